/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the search that depends on the processor; search.c calls it. search_x86.c,
 * search_i386.c, search_arm32.c and search_arm64.c implement it. Resolver's thread.
 */
#ifndef XTOP_LINUX_KERNEL_SEARCH_ARCH_H
#define XTOP_LINUX_KERNEL_SEARCH_ARCH_H

#include <string.h>

#include "linux/kernel/linux_guest.h"

struct search {
	struct linux_guest *guest;
	uint64_t image_start, image_end;
	/* The image's range that is searched now: copy of its bytes, start and size. */
	const uint8_t *bytes;
	uint64_t address;
	size_t size_bytes;
	size_t n_orc; /* entries of the longest ORC table so far */
	size_t n_unwind; /* 32-bit Arm: entries of the longest index of unwind tables so far */
};

static inline uint32_t search_u32(const struct search *search, size_t at)
{
	uint32_t value;

	memcpy(&value, search->bytes + at, sizeof(value));
	return value;
}

/* Sets SYMBOL, unless SYMBOL is known already. */
static inline void search_set(struct search *search, enum linux_symbol symbol, uint64_t address)
{
	if (!search->guest->symbols[symbol])
		search->guest->symbols[symbol] = address;
}

/* Whether HEAD is the head of a list: the first element's `prev` is HEAD. */
static inline bool search_is_list(const struct linux_guest *guest, uint64_t head)
{
	uint64_t next, before;

	return linux_is_kernel_of(guest, head) && linux_read_word(guest, head, &next) &&
	       linux_is_kernel_of(guest, next) &&
	       linux_read_word(guest, next + linux_word_bytes(guest), &before) &&
	       before == head;
}

/* Whether ADDRESS is in the same page frame under ROOT as under the vCPU's tables. */
static inline bool search_is_same_frame(const struct search *search, struct memory_root root,
					uint64_t address)
{
	frame_t there, here;

	return memory_translate(search->guest->memory, root, address, &there) &&
	       memory_translate(search->guest->memory, search->guest->root, address, &here) &&
	       there.value == here.value;
}

/* Whether the page AT, used as top table, maps the image and itself as the vCPU's tables do. */
static inline bool search_maps_kernel(const struct search *search, size_t at)
{
	struct memory_root root = search->guest->root;
	uint64_t address = search->address + at;
	frame_t frame;

	if (!memory_translate(search->guest->memory, root, address, &frame))
		return false;
	root.cr3 = frame.value << GUEST_PAGE_SHIFT;
	return search_is_same_frame(search, root, search->image_start) &&
	       search_is_same_frame(search, root, search->image_start + (1 << 20)) &&
	       search_is_same_frame(search, root, address);
}

/* Sets LINUX_PAGE_TABLES, unless it is known, to the first page for which IS_ROOT is true. */
static inline void search_page_tables(struct search *search,
				      bool (*is_root)(const struct search *search, size_t at))
{
	size_t at = 0;

	while (!search->guest->symbols[LINUX_PAGE_TABLES] &&
	       at + GUEST_PAGE_SIZE <= search->size_bytes) {
		if (is_root(search, at))
			search_set(search, LINUX_PAGE_TABLES, search->address + at);
		at += GUEST_PAGE_SIZE;
	}
}

/* Functions, and the lists that they walk. */
static const struct {
	enum linux_symbol function, list;
} search_lists[] = {
	{ LINUX_PRINT_MODULES, LINUX_MODULES },
	{ LINUX_GET_BPF, LINUX_BPF_KALLSYMS },
};
#define N_SEARCH_LISTS (sizeof(search_lists) / sizeof(search_lists[0]))

/* Finds LINUX_PAGE_TABLES and LINUX_ORC_* in a range of data. */
void search_x86_data(struct search *search);
/* Finds the symbols of search.h from LINUX_CURRENT_TASK to LINUX_BPF_KALLSYMS in functions. */
void search_x86_functions(struct search *search);
/* Finds LINUX_PAGE_TABLES of i386 in a range of data. */
void search_i386_data(struct search *search);
/* Finds LINUX_CURRENT_TASK, LINUX_PER_CPU_OFFSET and the lists of i386 in functions. */
void search_i386_functions(struct search *search);
/* Finds LINUX_EXIDX_* of 32-bit Arm in a range of constants. */
void search_arm32_constants(struct search *search);
/* Finds LINUX_CURRENT_TASK and LINUX_PER_CPU_OFFSET of 32-bit Arm in functions. */
void search_arm32_functions(struct search *search);
/*
 * Finds the lists, LINUX_PER_CPU_OFFSET, LINUX_RUNSTATE and LINUX_ENTRY_TASK of arm64 in functions.
 * On arm64 the registers tell the kernel's page tables, and there is no ORC.
 */
void search_arm64_functions(struct search *search);

#endif
