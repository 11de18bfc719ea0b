/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the search for a kernel's symbols. kallsyms_find.c describes the format and finds the
 * tables, kallsyms_addresses.c finds the addresses. Resolver's thread.
 */
#ifndef XTOP_LINUX_KERNEL_KALLSYMS_FINDER_H
#define XTOP_LINUX_KERNEL_KALLSYMS_FINDER_H

#include <string.h>

#include "linux/kernel/kallsyms.h"
#include "xtop/base/work.h"

#define N_TOKENS 256
#define TOKEN_INDEX_BYTES (N_TOKENS * 2)

/* All positions are offsets in the input's bytes, because the bytes may move. */
struct kallsyms_finder {
	struct kallsyms_input *input;
	struct kallsyms *out; /* result: receives positions of tokens, encoding, flags and marks */
	size_t align;         /* alignment of every table: 8 or 4 */
	size_t token_index, token_table;
	size_t markers;
	unsigned n_markers, marker_bytes;
	size_t names, names_bytes;
	uint32_t n;
	uint32_t mark_indices[KALLSYMS_N_MARKS]; /* equal to n if there is no such symbol */
};

static inline size_t finder_align(const struct kallsyms_finder *finder, size_t at)
{
	return (at + finder->align - 1) & ~(finder->align - 1);
}

/* Whether the search is to be broken off. */
static inline bool finder_is_over(const struct kallsyms_finder *finder)
{
	return work_is_over(finder->input->work);
}

/* Loads 2, 4 or 8 bytes, little-endian; 0 where nothing is present. */
static inline uint64_t finder_load(const struct kallsyms_finder *finder, size_t at, size_t bytes)
{
	const uint8_t *from;
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	if (at > finder->input->present_bytes || bytes > finder->input->present_bytes - at)
		return 0;
	from = finder->input->bytes + at;
	switch (bytes) { /* memcpy() of a constant length is a load, any other is a call */
	case 2:
		memcpy(&u16, from, sizeof(u16));
		return u16;
	case 4:
		memcpy(&u32, from, sizeof(u32));
		return u32;
	default:
		memcpy(&u64, from, sizeof(u64));
		return u64;
	}
}

/* Whether the first UP_TO bytes are present, or can be copied. */
static inline bool finder_need(struct kallsyms_finder *finder, size_t up_to)
{
	struct kallsyms_input *input = finder->input;

	if (up_to <= input->present_bytes)
		return true;
	if (up_to > input->size_bytes || !input->more)
		return false;
	return input->more(input, up_to) && up_to <= input->present_bytes;
}

/* Whether the bytes from FROM on are present, or can be copied. */
static inline bool finder_need_from(struct kallsyms_finder *finder, size_t from)
{
	struct kallsyms_input *input = finder->input;

	if (from >= input->absent_bytes)
		return true;
	return input->front && input->front(input, from) && from >= input->absent_bytes;
}

static inline bool finder_spent(const struct kallsyms_finder *finder)
{
	return finder->input->steps >= KALLSYMS_MAX_STEPS;
}

/* Counts STEPS. Returns false if there were too many. */
static inline bool finder_spend(struct kallsyms_finder *finder, uint64_t steps)
{
	finder->input->steps += steps;
	return !finder_spent(finder);
}

/* Reads the addresses of all names (kallsyms_addresses.c). Returns false if none are found. */
bool finder_find_addresses(struct kallsyms_finder *finder);

#endif
