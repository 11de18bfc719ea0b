/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads members of the guest's kernel structures by name. Each function returns false if the kernel
 * has no such member, if the object is no kernel pointer, or if the page is missing. Resolver's
 * thread.
 */
#ifndef XTOP_LINUX_KERNEL_MEMBER_H
#define XTOP_LINUX_KERNEL_MEMBER_H

#include <string.h>

#include "linux/kernel/linux_guest.h"

/* Reads the first SIZE_BYTES of MEMBER, at most 8. */
static inline bool member_read(const struct linux_guest *guest, uint64_t object,
			       enum layout_member member, void *buffer, size_t size_bytes)
{
	uint64_t value;

	if (!layout_has(&guest->layout, member) || !linux_is_kernel_of(guest, object))
		return false;
	object += layout_offset(&guest->layout, member);
	if (memory_read(guest->memory, guest->root, object, &value, size_bytes) != size_bytes)
		return false;
	memcpy(buffer, &value, size_bytes);
	return true;
}

static inline bool member_read_u64(const struct linux_guest *guest, uint64_t object,
				   enum layout_member member, uint64_t *value)
{
	return member_read(guest, object, member, value, sizeof(*value));
}

static inline bool member_read_u32(const struct linux_guest *guest, uint64_t object,
				   enum layout_member member, uint32_t *value)
{
	return member_read(guest, object, member, value, sizeof(*value));
}

/* Reads a long, or any pointer. */
static inline bool member_read_word(const struct linux_guest *guest, uint64_t object,
				    enum layout_member member, uint64_t *value)
{
	uint64_t word = 0;

	if (!member_read(guest, object, member, &word, linux_word_bytes(guest)))
		return false;
	*value = word;
	return true;
}

/* Reads a pointer. Returns false also if the value is no kernel pointer. */
static inline bool member_read_pointer(const struct linux_guest *guest, uint64_t object,
				       enum layout_member member, uint64_t *value)
{
	uint64_t word;

	if (!member_read_word(guest, object, member, &word) || !linux_is_kernel_of(guest, word))
		return false;
	*value = word;
	return true;
}

#endif
