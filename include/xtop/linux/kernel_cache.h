/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file with what xtop has found out about a domain's kernel. The next start with the same domain
 * reads the file instead of searching guest memory (linux/kernel/kernel_cache.c). The broker
 * chooses the file (cache_folder.h).
 */
#ifndef XTOP_KERNEL_CACHE_H
#define XTOP_KERNEL_CACHE_H

struct kernel_cache;

/* Owns FD, the domain's file. Returns NULL, and nothing is kept, if FD is -1 or memory is out. */
struct kernel_cache *kernel_cache_adopt(int fd);
void kernel_cache_close(struct kernel_cache *cache); /* NULL allowed */

#endif
