/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was found of a kernel, kept in files for the next time one of the same build-id is met, on
 * whatever domain and wherever randomisation puts it. A handful of slots, each a file that is opened
 * at start, so that the resolver needs no right to open anything later.
 *
 * Opened and closed by xtop/os.h's functions; the rest is for the resolver's thread. The files are checked as if somebody else had
 * written them; one that does not fit is no error, it is written anew.
 */
#ifndef XTOP_OS_KERNEL_CACHE_H
#define XTOP_OS_KERNEL_CACHE_H

#include "os/linux_attach.h"
#include "xtop/os.h"

#define KERNEL_CACHE_SLOTS 8

/*
 * Fills KERNEL, whose guest's memory and root are set and whose image is new, when one of the slots
 * is of the kernel whose text starts at TEXT_START: the build-id in guest memory says so.
 */
bool kernel_cache_load(struct kernel_cache *cache, struct linux_kernel *kernel,
		       uint64_t text_start);
/* Into the slot unused for longest. Failure leaves one that will not be taken. */
void kernel_cache_store(struct kernel_cache *cache, const struct linux_kernel *kernel);

#endif
