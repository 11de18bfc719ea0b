/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds ELF headers in a guest's memory; see header_finder.h. */
#include "config.h"

#include "elf_kernel/header_finder.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"

#define HEADERS_ALIGNMENT 4
#define HEADERS_BATCH     64 /* pages that are read at a time */

struct headers {
	bool (*fn)(void *context, uint64_t header);
	void *context;
	unsigned n;     /* number of headers so far */
	uint8_t *pages; /* room for HEADERS_BATCH pages */
};

/* Searches the SIZE_BYTES in headers->pages, which lie at ADDRESS. Returns true if FN did. */
static bool headers_find(struct headers *headers, uint64_t address, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes && headers->n < HEADERS_MAX; i += HEADERS_ALIGNMENT) {
		const uint8_t *at = headers->pages + i;

		if (at[0] != ELFMAG0 || memcmp(at, ELFMAG, SELFMAG) != 0)
			continue;
		headers->n++;
		if (headers->fn(headers->context, address + i))
			return true;
	}
	return false;
}

bool header_finder_each(struct memory *memory, struct memory_root root, uint64_t address,
			uint64_t size_bytes, bool (*fn)(void *context, uint64_t header),
			void *context)
{
	_cleanup_free_ uint8_t *pages = malloc(HEADERS_BATCH * GUEST_PAGE_SIZE);
	struct headers headers = { fn, context, 0, pages };
	uint64_t at = address & ~(uint64_t)GUEST_PAGE_MASK;
	size_t got = HEADERS_BATCH;

	for (uint64_t done = 0; pages && done < size_bytes && got == HEADERS_BATCH &&
				headers.n < HEADERS_MAX;
	     done += HEADERS_BATCH * GUEST_PAGE_SIZE) {
		got = memory_read_unwatched(memory, root, at + done, pages, HEADERS_BATCH);
		if (headers_find(&headers, at + done, got * GUEST_PAGE_SIZE))
			return true;
	}
	return false;
}
