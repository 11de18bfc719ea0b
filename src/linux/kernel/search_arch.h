/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the search that depends on the processor: search.c calls it, and search_x86.c has it
 * for x86-64. Resolver's thread.
 */
#ifndef XTOP_LINUX_KERNEL_SEARCH_ARCH_H
#define XTOP_LINUX_KERNEL_SEARCH_ARCH_H

#include <string.h>

#include "linux/kernel/linux_guest.h"

struct search {
	struct linux_guest *guest;
	uint64_t image_start, image_end;
	/* The range of the image that is searched now, as a copy. */
	const uint8_t *bytes;
	uint64_t address;
	size_t size_bytes;
	size_t n_orc; /* entries of the longest ORC table so far */
};

static inline uint32_t search_u32(const struct search *search, size_t at)
{
	uint32_t value;

	memcpy(&value, search->bytes + at, sizeof(value));
	return value;
}

/* A symbol that the kernel has keeps its address. */
static inline void search_set(struct search *search, enum linux_symbol symbol, uint64_t address)
{
	if (!search->guest->symbols[symbol])
		search->guest->symbols[symbol] = address;
}

/* In a range of data: LINUX_PAGE_TABLES, LINUX_ORC_*. */
void search_arch_data(struct search *search);
/* In functions: the other seven of search.h. */
void search_arch_functions(struct search *search);

#endif
