/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds ELF headers in a guest's memory; see header_finder.h. */
#include "config.h"

#include "elf_kernel/header_finder.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/cleanup.h"

#define HEADERS_ALIGNMENT  4
#define HEADERS_MAX_RANGES 64
#define HEADERS_BATCH      64 /* pages that are read at a time */

struct headers {
	struct memory *memory;
	struct memory_root root;
	bool (*fn)(void *context, uint64_t header);
	void *context;
	unsigned n; /* headers so far */
	uint8_t *pages; /* HEADERS_BATCH of them */
};

static bool headers_look(struct headers *headers, uint64_t address, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes && headers->n < HEADERS_MAX; i += HEADERS_ALIGNMENT) {
		if (memcmp(headers->pages + i, ELFMAG, SELFMAG) != 0)
			continue;
		headers->n++;
		if (headers->fn(headers->context, address + i))
			return true;
	}
	return false;
}

static bool headers_look_in(struct headers *headers, const struct memory_range *range)
{
	for (uint64_t at = range->start; at < range->end && headers->n < HEADERS_MAX;) {
		uint64_t left = (range->end - at) / GUEST_PAGE_SIZE;
		size_t n = left < HEADERS_BATCH ? (size_t)left : HEADERS_BATCH;

		memory_look_over(headers->memory, headers->root, at, headers->pages, n);
		if (headers_look(headers, at, n * GUEST_PAGE_SIZE))
			return true;
		at += n * GUEST_PAGE_SIZE;
	}
	return false;
}

bool header_finder_each(struct memory *memory, struct memory_root root, uint64_t address,
			bool (*fn)(void *context, uint64_t header), void *context)
{
	_cleanup_free_ uint8_t *pages = malloc(HEADERS_BATCH * GUEST_PAGE_SIZE);
	struct headers headers = { memory, root, fn, context, 0, pages };
	struct memory_range ranges[HEADERS_MAX_RANGES];
	uint64_t from = address & ~(uint64_t)GUEST_PAGE_MASK;
	uint64_t to = from > UINT64_MAX - HEADERS_MAX_BYTES ? UINT64_MAX - GUEST_PAGE_MASK
							    : from + HEADERS_MAX_BYTES;
	size_t n = pages ? memory_ranges(memory, root, from, to, ranges, HEADERS_MAX_RANGES) : 0;

	for (size_t i = 0; i < n; i++)
		if (headers_look_in(&headers, &ranges[i]))
			return true;
	return false;
}
