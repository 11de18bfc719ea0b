/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of the kernel cache as linux_attach.c uses them; xtop/kernel_cache.h opens and closes
 * them. A kernel is found again by the domain that showed it and by its build-id, wherever
 * randomisation put it. There is a handful of slots. Each is a file that is opened at the start, so
 * that resolvers need no right to open anything later.
 *
 * The files are checked as if somebody else had written them. A file that does not fit is no error;
 * it is written anew. Resolvers' threads.
 */
#ifndef XTOP_LINUX_KERNEL_KERNEL_CACHE_H
#define XTOP_LINUX_KERNEL_KERNEL_CACHE_H

#include "linux/kernel/linux_attach.h"
#include "xtop/kernel_cache.h"

#define KERNEL_CACHE_SLOTS 16

/*
 * Fills in KERNEL from the slot that has the kernel with text at TEXT_START, as domain UUID showed
 * it: its build-id is compared with guest memory. No other domain gets it, since what a guest shows
 * under a build-id is only that guest's word. The caller has set memory and root of KERNEL's guest,
 * and its image is new. CACHE may be NULL.
 */
bool kernel_cache_load(struct kernel_cache *cache, const char *uuid, struct linux_kernel *kernel,
		       uint64_t text_start);
/* Writes KERNEL to the oldest slot. After a failure that slot is one that cannot be loaded. */
void kernel_cache_store(struct kernel_cache *cache, const char *uuid,
			const struct linux_kernel *kernel);

#endif
