/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was found of a kernel, kept in files for the next time the same domain shows one of the same
 * build-id, wherever randomisation put it. A handful of slots, each a file that is opened at start,
 * so that resolvers need no right to open anything later.
 *
 * Opened and closed by xtop/os.h's functions; the rest is for the resolvers' threads. The files are
 * checked as if somebody else had written them; one that does not fit is no error, it is written anew.
 */
#ifndef XTOP_OS_KERNEL_CACHE_H
#define XTOP_OS_KERNEL_CACHE_H

#include "linux/kernel/linux_attach.h"
#include "xtop/os.h"

#define KERNEL_CACHE_SLOTS 16

/*
 * Fills KERNEL, whose guest's memory and root are set and whose image is new, when one of the slots
 * is of SHELF's domain and of the kernel whose text starts at TEXT_START: the build-id in guest
 * memory says so.
 */
bool kernel_cache_load(const struct kernel_shelf *shelf, struct linux_kernel *kernel,
		       uint64_t text_start);
/* Into the slot that is oldest. Failure leaves one that will not be taken. */
void kernel_cache_store(const struct kernel_shelf *shelf, const struct linux_kernel *kernel);

#endif
