/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap of the whole program. */
#ifndef XTOP_HEAP_H
#define XTOP_HEAP_H

/*
 * Large arrays, such as those of snapshots, go back to the system as soon as they are freed. To be
 * called first in main().
 */
void heap_return_large(void);

#endif
