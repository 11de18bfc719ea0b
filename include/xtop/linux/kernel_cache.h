/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was found of a domain's kernel, kept in a file: the next start with the same domain finds it
 * there instead of in guest memory (linux/kernel/kernel_cache.c). Which file is the broker's affair
 * (cache_folder.h).
 */
#ifndef XTOP_KERNEL_CACHE_H
#define XTOP_KERNEL_CACHE_H

struct kernel_cache;

/* Owns FD, the file of the domain. NULL: FD is -1, or there is no memory; nothing is kept. */
struct kernel_cache *kernel_cache_adopt(int fd);
void kernel_cache_close(struct kernel_cache *cache); /* NULL allowed */

#endif
