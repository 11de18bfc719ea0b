/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the search for a kernel's symbols has found so far. kallsyms_find.c finds the tables and has
 * the format, kallsyms_addresses.c finds what they say of addresses. Resolver's thread.
 */
#ifndef OS_KALLSYMS_FINDER_H
#define OS_KALLSYMS_FINDER_H

#include <string.h>

#include "linux/kernel/kallsyms.h"

#define N_TOKENS 256
#define TOKEN_INDEX_BYTES (N_TOKENS * 2)

/* Places are offsets into the input's bytes, which may move. */
struct kallsyms_finder {
	struct kallsyms_input *input;
	struct kallsyms *out; /* tokens' places, encoding, flags and marks are written there */
	size_t align; /* of every table: 8, or 4 */
	size_t token_index, token_table;
	size_t markers;
	unsigned n_markers, marker_bytes;
	size_t names, names_bytes;
	uint32_t n;
	uint32_t mark_indices[KALLSYMS_N_MARKS]; /* n: no such symbol */
};

static inline size_t finder_align(const struct kallsyms_finder *finder, size_t at)
{
	return (at + finder->align - 1) & ~(finder->align - 1);
}

/* Little-endian, 2, 4 or 8 bytes; 0 where nothing is present. */
static inline uint64_t finder_load(const struct kallsyms_finder *finder, size_t at, size_t bytes)
{
	const uint8_t *from;
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	if (at > finder->input->present_bytes || bytes > finder->input->present_bytes - at)
		return 0;
	from = finder->input->bytes + at;
	switch (bytes) { /* a length that the compiler knows is a load, another one a call */
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

/* Whether the first UP_TO bytes are there, or can be had. */
static inline bool finder_need(struct kallsyms_finder *finder, size_t up_to)
{
	struct kallsyms_input *input = finder->input;

	if (up_to <= input->present_bytes)
		return true;
	if (up_to > input->size_bytes || !input->more)
		return false;
	return input->more(input, up_to) && up_to <= input->present_bytes;
}

/* Whether the bytes from FROM on are there, or can be had. */
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

/* Counts STEPS; false: there have been too many. */
static inline bool finder_spend(struct kallsyms_finder *finder, uint64_t steps)
{
	finder->input->steps += steps;
	return !finder_spent(finder);
}

/* kallsyms_addresses.c: reads the addresses of all names into out; false: they are nowhere. */
bool finder_find_addresses(struct kallsyms_finder *finder);

#endif
