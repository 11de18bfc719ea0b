/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was found of kernels, kept in files: the next start with the same domain finds it there
 * instead of in guest memory (linux/kernel/kernel_cache.c). One cache serves all guests of a
 * session. Main's thread.
 */
#ifndef XTOP_KERNEL_CACHE_H
#define XTOP_KERNEL_CACHE_H

struct kernel_cache;

/*
 * Opens the slots in DIRECTORY; DIRECTORY and its parents are created. Only files are used that
 * belong to us and that nobody else can write to. NULL: there is no such place, and nothing is
 * kept.
 */
struct kernel_cache *kernel_cache_open(const char *directory);
void kernel_cache_close(struct kernel_cache *cache); /* NULL allowed */

#endif
