/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads words of locks from guest memory, not from copies of pages. All data is hostile. Resolver's
 * thread.
 */
#ifndef XTOP_LINUX_LOCK_MEMORY_H
#define XTOP_LINUX_LOCK_MEMORY_H

#include "linux/kernel/linux_guest.h"

/* Returns false if ADDRESS is outside the kernel's addresses, or if the page is not there. */
static inline bool lock_memory_read(const struct linux_guest *guest, uint64_t address, void *bytes,
				    size_t n)
{
	return linux_is_kernel(address) && address % sizeof(uint64_t) == 0 &&
	       memory_read_again(guest->memory, guest->root, address, bytes, n) == n;
}

static inline bool lock_memory_read_member(const struct linux_guest *guest, uint64_t object,
					   enum layout_member member, uint64_t *word)
{
	return layout_has(&guest->layout, member) && linux_is_kernel(object) &&
	       lock_memory_read(guest, object + layout_offset(&guest->layout, member), word,
				sizeof(*word));
}

#endif
