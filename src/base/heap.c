/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap; see heap.h.
 *
 * glibc maps large arrays by themselves, and unmaps them when they are freed. But each large array
 * that is freed raises the size from which on glibc does so, up to 32 MiB (mallopt(3),
 * M_MMAP_THRESHOLD). Then snapshots of several megabytes, made anew every second, lie between
 * smaller pieces and leave holes: 116 MiB at most in tests/screens/test_soak, against 83 with a
 * fixed size.
 */
#include "config.h"

#include "xtop/base/heap.h"

#include <malloc.h>

#define HEAP_LARGE_BYTES (1 << 20)

void heap_return_large(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, HEAP_LARGE_BYTES);
#endif
}

/* Each resolver has a heap of its own (an arena of glibc), which it never gives back in part. */
void heap_return_holes(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}
