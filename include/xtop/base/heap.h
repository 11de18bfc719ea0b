/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap of the whole program. */
#ifndef XTOP_HEAP_H
#define XTOP_HEAP_H

/*
 * Large arrays, such as those of snapshots, go back to the system as soon as they are freed. Call
 * this function first in main().
 */
void heap_return_large(void);

/*
 * Gives unused whole pages in the heaps of all threads back to the system. Takes about a
 * millisecond. Call this function after work that leaves many unused pages, such as the search for
 * a kernel.
 */
void heap_return_holes(void);

#endif
