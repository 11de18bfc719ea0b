/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap of the whole program. */
#ifndef XTOP_HEAP_H
#define XTOP_HEAP_H

/*
 * Large arrays, such as those of snapshots, go back to the system as soon as they are freed. To be
 * called first in main().
 */
void heap_return_large(void);

/*
 * Gives whole pages between pieces in use back to the system, in the heaps of all threads. Takes
 * about a millisecond. After work that has left many of them, such as the search for a kernel.
 */
void heap_return_holes(void);

#endif
