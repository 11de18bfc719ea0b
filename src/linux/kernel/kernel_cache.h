/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel cache as linux_attach.c uses it. A kernel is recognised by the domain in which it was
 * found and by its build-id, wherever randomisation put it. The domain has one file, which the
 * broker has opened, so that resolvers need no right to open anything.
 *
 * The file is checked as if somebody else had written it. A file that does not fit is no error; it
 * is written again. Resolver's thread.
 */
#ifndef XTOP_LINUX_KERNEL_KERNEL_CACHE_H
#define XTOP_LINUX_KERNEL_KERNEL_CACHE_H

#include "linux/kernel/linux_kernel.h"
#include "xtop/linux/kernel_cache.h"

/*
 * Fills in KERNEL if the file has the kernel with text at TEXT_START that was found in domain UUID:
 * its build-id is compared with guest memory. The file is used for no other domain, because a guest
 * may show any bytes under a build-id. The caller has set memory and root of KERNEL's guest, and
 * its image is new. CACHE may be NULL.
 */
bool kernel_cache_load(struct kernel_cache *cache, const char *uuid, struct linux_kernel *kernel,
		       uint64_t text_start);
/* Writes KERNEL to the file. After a failure the file cannot be loaded. */
void kernel_cache_store(struct kernel_cache *cache, const char *uuid,
			const struct linux_kernel *kernel);

#endif
