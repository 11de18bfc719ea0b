/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guessing where names begin in a kernel's read-only data: anywhere, after all kinds of other
 * data, by few pages; and ranges without names.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/support/make_kallsyms.h"
#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/types.h"

#define RANGE_BYTES (8U << 20)
#define NAMES_BYTES (2U << 20) /* Linux 6.1's; made ones are repeated */

struct range {
	uint8_t *bytes;
	size_t refused; /* a page that cannot be read; an offset that is no page's: none */
	unsigned reads;
};

static bool read_page(void *context, size_t at, uint8_t *page)
{
	struct range *range = context;

	range->reads++;
	if (at == range->refused || at + GUEST_PAGE_SIZE > RANGE_BYTES)
		return false;
	memcpy(page, range->bytes + at, GUEST_PAGE_SIZE);
	return true;
}

#define NONE SIZE_MAX

static size_t probe(struct range *range, size_t size_bytes)
{
	const struct kallsyms_probe probe = { size_bytes, read_page, range };
	size_t before;

	range->reads = 0;
	return kallsyms_probe(&probe, &before) ? before : NONE;
}

/* Fills in what a kernel has before its names: small numbers, text, random bytes. */
static void fill_other(uint8_t *bytes, size_t size_bytes)
{
	uint64_t state = 7;

	for (size_t at = 0; at < size_bytes; at++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		switch (at / 40000 % 3) {
		case 0:
			bytes[at] = at % 8 < 3 ? state >> 60 : 0;
			break;
		case 1:
			bytes[at] = at % 24 ? 'a' + (state >> 59) % 26 : 0;
			break;
		case 2:
			bytes[at] = state >> 56;
			break;
		}
	}
}

/* Repeats the names of MADE from AT on. */
static void put_names(uint8_t *bytes, size_t at, const struct made_kallsyms *made)
{
	size_t names_bytes = made->names_end - made->names, end = at + NAMES_BYTES;

	for (; at + names_bytes <= end; at += names_bytes)
		memcpy(bytes + at, made->bytes + made->names, names_bytes);
}

/* The guess is the page of the first name, or the page before if that one is not full. */
static void test_places(struct range *range, const struct made_kallsyms *made)
{
	static const size_t places[] = { 0x1000, 0x1ff0, 0x40000, 0x5f123, 0x1961e8, 0x3e857c };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t page = places[i] & ~(size_t)GUEST_PAGE_MASK, seen;

		memset(range->bytes, 0, RANGE_BYTES);
		fill_other(range->bytes, RANGE_BYTES);
		put_names(range->bytes, places[i], made);
		seen = probe(range, RANGE_BYTES);
		check(seen == page || seen == page - GUEST_PAGE_SIZE,
		      "names at %#zx: everything before %#zx can be left out, seen in %u pages",
		      places[i], seen, range->reads);
		check(range->reads <= places[i] / (256 << 10) + 8,
		      "names are found after a few pages");
	}
}

static void test_none(struct range *range, const struct made_kallsyms *made)
{
	memset(range->bytes, 0, RANGE_BYTES);
	check_u64(probe(range, RANGE_BYTES), NONE, "zeros are no names");
	check_u64(range->reads, RANGE_BYTES / (256 << 10) + (4 << 20) / (32 << 10),
		  "number of pages that were read");
	fill_other(range->bytes, RANGE_BYTES);
	check_u64(probe(range, RANGE_BYTES), NONE, "other data is no names");
	put_names(range->bytes, 0, made);
	check_u64(probe(range, RANGE_BYTES), 0, "names that begin with the first byte are found");
	check_u64(probe(range, 0), NONE, "an empty range has no names");
	fill_other(range->bytes, RANGE_BYTES);
	memset(range->bytes + 0x41000, 0, NAMES_BYTES);
	memcpy(range->bytes + 0x41000, made->bytes + made->names, 50000);
	check_u64(probe(range, RANGE_BYTES), 0x40000, "the names of a small kernel are found");
	memset(range->bytes, 1, RANGE_BYTES);
	check_u64(probe(range, RANGE_BYTES), NONE, "lengths of 1 are no names");
	memset(range->bytes, 0x7f, RANGE_BYTES);
	check_u64(probe(range, RANGE_BYTES), NONE, "lengths of 127 are no names");
}

/* A kernel has all of its pages: where one is missing there is no kernel. */
static void test_refused(struct range *range, const struct made_kallsyms *made)
{
	fill_other(range->bytes, RANGE_BYTES);
	put_names(range->bytes, 0x81000, made);
	range->refused = 0x40000;
	check_u64(probe(range, RANGE_BYTES), NONE, "a missing page ends the search without names");
	check(range->reads < 16, "the search reads nothing after a missing page");
	range->refused = 1;
}

/* The last byte of a page is the first byte of a length that goes on in the next page. */
static void test_page_end(struct range *range)
{
	memset(range->bytes, 15, GUEST_PAGE_SIZE);
	memset(range->bytes, 0,
	       15); /* the first entry begins after that, the last at the last byte */
	range->bytes[GUEST_PAGE_SIZE - 1] = 0x80;
	check_u64(probe(range, GUEST_PAGE_SIZE), 0, "a length across the end of a page is read");
}

int main(void)
{
	struct range range = { .bytes = malloc(RANGE_BYTES), .refused = 1 };
	struct made_kallsyms made;

	if (!range.bytes)
		exit(99);
	make_kallsyms(&made_layouts[n_made_layouts - 1], &made);
	test_places(&range, &made);
	test_none(&range, &made);
	test_refused(&range, &made);
	test_page_end(&range);
	made_kallsyms_deinit(&made);
	free(range.bytes);
	return tap_done();
}
