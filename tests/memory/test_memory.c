/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading guest memory: across pages, up to holes, in bulk, as ranges; how often frames are read;
 * and page tables that a hostile guest might make. Also tests made_memory.c.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/made_memory.h"
#include "tests/support/tap.h"

#define TEXT 0xffffffff81000000ULL
#define DATA 0xffffffff82000000ULL
#define USER 0x00007f1234560000ULL
#define LAST (UINT64_MAX - GUEST_PAGE_SIZE + 1)

#define PTE_P  (1ULL << 0)
#define PTE_W  (1ULL << 1)
#define PTE_PS (1ULL << 7)
#define PTE_NX (1ULL << 63)

static struct {
	struct made_memory *made;
	struct memory *memory;
	struct memory_root root;
} guest;
static unsigned char bytes[16 * GUEST_PAGE_SIZE], want[16 * GUEST_PAGE_SIZE];

static void begin(void)
{
	guest.made = made_create();
	guest.memory = made_memory(guest.made);
	guest.root = made_root(guest.made);
	for (size_t i = 0; i < sizeof(want); i++)
		want[i] = (unsigned char)(i * 7 + (i >> 8) * 13 + 1);
	memset(bytes, 0xee, sizeof(bytes));
}

static void end(void)
{
	made_destroy(guest.made);
}

static void map(uint64_t address, uint64_t size, unsigned flags)
{
	made_map(guest.made, guest.root, address, size, flags);
}

static uint64_t *entry(uint64_t address, unsigned level)
{
	return made_entry(guest.made, guest.root, address, level);
}

static void put(uint64_t address, const void *what, size_t n)
{
	made_put(guest.made, guest.root, address, what, n);
}

static void put_u64(uint64_t address, uint64_t value)
{
	made_put_u64(guest.made, guest.root, address, value);
}

/* Reads into `bytes`. */
static size_t read_bytes(uint64_t address, size_t n)
{
	return memory_read(guest.memory, guest.root, address, bytes, n);
}

static bool read_u32(uint64_t address, uint32_t *value)
{
	return memory_read_u32(guest.memory, guest.root, address, value);
}

static bool read_u64(uint64_t address, uint64_t *value)
{
	return memory_read_u64(guest.memory, guest.root, address, value);
}

static bool read_string(uint64_t address, char *string, size_t n)
{
	return memory_read_string(guest.memory, guest.root, address, string, n);
}

/* The first N bytes are as expected, and the next byte was not touched. */
static bool has(const unsigned char *expected, size_t n)
{
	return memcmp(bytes, expected, n) == 0 && (n == sizeof(bytes) || bytes[n] == 0xee);
}

/* --- a few bytes ------------------------------------------------------------------------------ */

static void test_read(void)
{
	uint64_t value = 5;
	uint32_t half = 5;

	begin();
	put(DATA + 0x800, want, 0x2000);
	check(read_bytes(DATA + 0x800, 0x2000) == 0x2000 && has(want, 0x2000),
	      "bytes across three pages");
	memset(bytes, 0xee, sizeof(bytes));
	check_u64(read_bytes(DATA + 0x2ff0, 0x100), 0x10, "bytes before a missing page");
	check_u64(read_bytes(DATA + 0x3000, 1), 0, "bytes of a missing page");
	check_u64(read_bytes(DATA, 0), 0, "a read of no bytes");
	put_u64(DATA + 0x1ffc, 0x1122334455667788);
	memory_refresh(guest.memory);
	check(read_u64(DATA + 0x1ffc, &value) && value == 0x1122334455667788,
	      "a word across two pages: %#" PRIx64, value);
	check(read_u32(DATA + 0x1ffe, &half) && half == 0x33445566, "half a word: %#" PRIx32, half);
	check(!read_u64(DATA + 0x2ffc, &value) && value == 0x1122334455667788,
	      "a word of which half is missing");
	check(!read_u32(DATA + 0x2ffe, &half) && half == 0x33445566,
	      "half a word of which half is missing");
	end();
}

static void test_end_of_addresses(void)
{
	begin();
	put(LAST, want, GUEST_PAGE_SIZE);
	put(0, want, GUEST_PAGE_SIZE);
	check(read_bytes(LAST + 0xff0, 0x100) == 0x10 && has(want + 0xff0, 0x10),
	      "a read ends at the last address");
	memset(bytes, 0xee, sizeof(bytes));
	check(memory_read_bulk(guest.memory, guest.root, LAST + 0x800, bytes, 0x2000) == 0x800 &&
		      memcmp(bytes, want + 0x800, 0x800) == 0 && bytes[0x800] == 0 &&
		      bytes[0x1fff] == 0 && bytes[0x2000] == 0xee,
	      "a bulk read ends at the last address");
	check_u64(read_bytes(0x0000800000000000, 1), 0, "an address that is not canonical");
	check_u64(read_bytes(0, 0x1000), 0x1000, "address 0 can be read");
	end();
}

static void test_strings(void)
{
	char string[32];

	begin();
	made_put_string(guest.made, guest.root, DATA + 0xffa, "hello, world");
	check(read_string(DATA + 0xffa, string, sizeof(string)), "a string across two pages");
	check_string(string, "hello, world", "text of a string across two pages");
	check(read_string(DATA + 0xffa, string, 6), "a string that is cut");
	check_string(string, "hello", "text of a string that is cut");
	put(DATA + 0x1ffc, "abcd", 4);
	memory_refresh(guest.memory);
	check(!read_string(DATA + 0x1ffc, string, sizeof(string)), "no NUL before a missing page");
	check_string(string, "abcd", "the text before a missing page");
	check(read_string(DATA + 0x1ffc, string, 5), "no error if the text just fills the buffer");
	check(!read_string(DATA + 0x5000, string, sizeof(string)), "a string in a missing page");
	check_string(string, "", "text of a string in a missing page");
	check(!read_string(DATA, string, 0), "no string is read into a buffer of no bytes");
	check(read_string(DATA, string, 1) && !string[0], "a buffer for the NUL only");
	put(LAST + 0xffe, "xy", 2);
	made_put_string(guest.made, guest.root, 0, "z");
	check(!read_string(LAST + 0xffe, string, sizeof(string)),
	      "a string does not go on after the last address");
	end();
}

/* --- frames ----------------------------------------------------------------------------------- */

static void test_copies(void)
{
	struct memory_counts before, after;
	uint64_t value;

	begin();
	put_u64(DATA, 1);
	read_u64(DATA, &value);
	before = memory_counts(guest.memory);
	check_u64(before.pages, 5, "pages read for the first word: four tables and its own page");
	check_u64(before.batches, 5, "each table and page is read by its own call");
	put_u64(DATA, 2);
	for (unsigned i = 0; i < 100; i++)
		read_u64(DATA + 8 * i % 4096, &value);
	read_u64(DATA, &value);
	after = memory_counts(guest.memory);
	check(value == 1 && after.pages == before.pages, "the copy is read: %" PRIu64, value);
	memory_refresh(guest.memory);
	read_u64(DATA, &value);
	after = memory_counts(guest.memory);
	check(value == 2 && after.pages == 2 * before.pages,
	      "after a refresh the page is read again: %" PRIu64, value);
	end();
}

static void test_prefetch(void)
{
	const uint64_t addresses[] = { DATA + 8, DATA + 0x1000, DATA + 0x9000, DATA + 0x10, USER };
	struct memory_counts before, after;

	begin();
	put(DATA, want, 0x2000);
	read_bytes(DATA, 1); /* the page tables, and a copy of one page */
	put(DATA, want, 0x3000);
	before = memory_counts(guest.memory);
	memory_prefetch(guest.memory, guest.root, addresses,
			sizeof(addresses) / sizeof(addresses[0]));
	after = memory_counts(guest.memory);
	check_u64(after.pages - before.pages, 1, "a page that is there is not copied again");
	check(read_bytes(DATA, 0x2000) == 0x2000 && has(want, 0x2000),
	      "bytes of kept pages are right");
	check_u64(memory_counts(guest.memory).pages, after.pages,
		  "bytes of kept pages: nothing is read");
	memory_refresh(guest.memory);
	read_bytes(DATA + 0x2000, 1);
	before = memory_counts(guest.memory);
	memory_prefetch(guest.memory, guest.root, addresses, 2);
	after = memory_counts(guest.memory);
	check(after.pages - before.pages == 2 && after.batches - before.batches == 1,
	      "two pages in one batch");
	end();
}

static void test_refused(void)
{
	frame_t frame = FRAME(77);
	uint64_t value;

	begin();
	put(DATA, want, 0x3000);
	made_refuse(guest.made, guest.root, DATA + 0x1000, true);
	check_u64(read_bytes(DATA, 0x3000), 0x1000, "bytes before a page that cannot be read");
	check(!read_u64(DATA + 0x1000, &value) && !read_u64(DATA + 0x1008, &value),
	      "words of a page that cannot be read");
	check_u64(memory_counts(guest.memory).refused, 1,
		  "a page that cannot be read is tried once");
	check(memory_translate(guest.memory, guest.root, DATA + 0x1000, &frame) &&
		      frame.value == made_frame(guest.made, guest.root, DATA + 0x1000).value,
	      "the frame of a page that cannot be read is known");
	made_refuse(guest.made, guest.root, DATA + 0x1000, false);
	check(!read_u64(DATA + 0x1000, &value), "a missing page is not tried again");
	memory_refresh(guest.memory);
	check(read_u64(DATA + 0x1000, &value), "a missing page is tried again after a refresh");
	frame = FRAME(77);
	check(!memory_translate(guest.memory, guest.root, DATA + 0x3000, &frame) &&
		      frame.value == 77,
	      "a missing page has no frame, and *FRAME is untouched");
	end();
}

/* Reads more pages than copies are kept. All words are right, although tables are forgotten too. */
static void test_many_pages(void)
{
	const unsigned n = 3 * MEMORY_CACHE_PAGES + 7;
	unsigned wrong = 0;

	begin();
	for (unsigned i = 0; i < n; i++)
		put_u64(DATA + i * GUEST_PAGE_SIZE + 8, i + 1);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < n; i++) {
			uint64_t value = 0;

			read_u64(DATA + (uint64_t)(i * 131 % n) * GUEST_PAGE_SIZE + 8, &value);
			wrong += value != i * 131 % n + 1;
		}
	check_u64(wrong, 0, "wrong words of many pages");
	end();
}

/* --- bulk ------------------------------------------------------------------------------------- */

static void check_bulk(uint64_t address, size_t size, size_t there, const char *what)
{
	size_t got;

	memset(bytes, 0xee, sizeof(bytes));
	got = memory_read_bulk(guest.memory, guest.root, address, bytes, size);
	check(got == there && has(want + (address - DATA), size),
	      "%s: %zu bytes there (expected %zu)", what, got, there);
}

static void test_bulk(void)
{
	begin();
	put(DATA, want, 8 * GUEST_PAGE_SIZE);
	check_bulk(DATA, 8 * GUEST_PAGE_SIZE, 8 * GUEST_PAGE_SIZE, "whole pages");
	check_bulk(DATA + 0x123, 0x4000, 0x4000, "from the middle to the middle");
	check_bulk(DATA + 0x123, 0x10, 0x10, "inside a page");
	check_bulk(DATA + 0xff8, 0x10, 0x10, "across the end of a page");
	check_bulk(DATA + 0x1000, 0x1001, 0x1001, "a page and a byte");
	check_bulk(DATA, 0, 0, "nothing");
	made_unmap(guest.made, guest.root, DATA + 0x2000, 0x1000);
	made_refuse(guest.made, guest.root, DATA + 0x4000, true);
	memset(want + 0x2000, 0, 0x1000);
	memset(want + 0x4000, 0, 0x1000);
	memory_refresh(guest.memory);
	check_bulk(DATA + 0x800, 0x7000, 0x5000, "with two pages missing");
	check_bulk(DATA + 0x2100, 0x100, 0, "inside a hole");
	check_bulk(DATA + 0x1f00, 0x200, 0x100, "ends in a hole");
	check_bulk(DATA + 0x2f00, 0x200, 0x100, "begins in a hole");
	end();
}

/* Large pages, and the largest batches. */
static void test_bulk_batches(void)
{
	const size_t size = 2 * MADE_LARGE + 5 * GUEST_PAGE_SIZE;
	unsigned char *large = malloc(size), *expected = malloc(size);
	struct memory_counts before, after;

	begin();
	map(DATA, 2 * MADE_LARGE, MADE_WRITE | MADE_PAGE_2M);
	for (size_t i = 0; i < size; i++)
		expected[i] = (unsigned char)(i >> 12 ^ i >> 3);
	put(DATA, expected, size);
	memory_read(guest.memory, guest.root, DATA + size - 1, large,
		    1); /* so that the tables are copied */
	before = memory_counts(guest.memory);
	check(memory_read_bulk(guest.memory, guest.root, DATA, large, size) == size &&
		      memcmp(large, expected, size) == 0,
	      "two pages of 2 MiB and five of 4 KiB");
	after = memory_counts(guest.memory);
	check_u64(after.pages - before.pages, 1024 + 5, "pages of 4 KiB that the bulk read took");
	check_u64(after.batches - before.batches, 3, "batches that the bulk read took");
	check_u64(memory_read_bulk(guest.memory, guest.root, DATA - 0x1000, large, size),
		  size - 0x1000, "a hole before the pages of a bulk read");
	check(memcmp(large + 0x1000, expected, size - 0x1000) == 0 && !large[0] && !large[0xfff],
	      "zeros for the hole, then the bytes");
	free(large);
	free(expected);
	end();
}

/* --- what is given back ----------------------------------------------------------------------- */

/* Pages of this process that are in memory. */
static long resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long all = 0, resident = 0;

	if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return resident;
}

/* A turn of the resolver that reads N pages. Returns how many have the right value. */
static unsigned turn_reads(unsigned n)
{
	unsigned right = 0;
	uint64_t value;

	memory_refresh(guest.memory);
	for (unsigned i = 0; i < n; i++)
		right += read_u64(DATA + i * GUEST_PAGE_SIZE, &value) && value == i + 1;
	return right;
}

/*
 * The search for a kernel reads a thousand pages, later turns a few. The kernel may give this
 * process large pages, so only what is given back can be counted.
 */
static void test_give_back(void)
{
	unsigned right = 0;
	long full, given;

	begin();
	map(DATA, 1000 * GUEST_PAGE_SIZE, MADE_WRITE);
	for (unsigned i = 0; i < 1000; i++)
		put_u64(DATA + i * GUEST_PAGE_SIZE, i + 1);
	check_u64(turn_reads(1000), 1000, "pages that are read in one turn");
	full = resident_pages();
	for (int i = 0; i < 600; i++)
		right += turn_reads(10);
	given = full - resident_pages();
	check_u64(right, 6000, "pages in 600 turns with ten each");
	check(given > 800, "%ld pages were given back", given);
	check_u64(turn_reads(1000), 1000, "all pages are read again after a give-back");
	end();
}

/* --- ranges ----------------------------------------------------------------------------------- */

static void check_ranges(uint64_t from, uint64_t to, const struct memory_range *expected, size_t n,
			 const char *what)
{
	struct memory_range got[16];
	size_t n_got = memory_ranges(guest.memory, guest.root, from, to, got, 16);

	check_u64(n_got, n, what);
	for (size_t i = 0; i < n && i < n_got; i++)
		check(got[i].start == expected[i].start && got[i].end == expected[i].end &&
			      got[i].writable == expected[i].writable &&
			      got[i].executable == expected[i].executable,
		      "%s, range %zu: %" PRIx64 " to %" PRIx64 " %d%d", what, i, got[i].start,
		      got[i].end, got[i].writable, got[i].executable);
}

/* Maps an image as a kernel does: large pages, small pages at the edges, a hole. */
static void make_image(void)
{
	map(TEXT, 4 * MADE_LARGE, MADE_EXECUTE | MADE_PAGE_2M);
	map(TEXT + 4 * MADE_LARGE, 0x3000, MADE_EXECUTE);
	map(TEXT + 4 * MADE_LARGE + 0x3000, 0x5000, MADE_READ);
	map(DATA, 2 * MADE_LARGE, MADE_WRITE | MADE_PAGE_2M);
	map(DATA + 2 * MADE_LARGE, 0x1000, MADE_WRITE | MADE_EXECUTE);
}

static void test_ranges(void)
{
	const struct memory_range image[] = {
		{ TEXT, TEXT + 4 * MADE_LARGE + 0x3000, false, true },
		{ TEXT + 4 * MADE_LARGE + 0x3000, TEXT + 4 * MADE_LARGE + 0x8000, false, false },
		{ DATA, DATA + 2 * MADE_LARGE, true, false },
		{ DATA + 2 * MADE_LARGE, DATA + 2 * MADE_LARGE + 0x1000, true, true },
	};
	const struct memory_range part[] = { { TEXT + 0x5000, TEXT + 0x7000, false, true } };
	const struct memory_range low[] = { { USER, USER + 0x1000, true, false } };
	const struct memory_range top[] = { { LAST, UINT64_MAX, true, false } };
	struct memory_range one;

	begin();
	check_ranges(0xffffffff80000000, 0xffffffffc0000000, NULL, 0, "an empty guest");
	make_image();
	memory_refresh(guest.memory);
	check_ranges(0xffffffff80000000, 0xffffffffc0000000, image, 4, "an image");
	check_ranges(TEXT + 0x5000, TEXT + 0x7000, part, 1, "a part of an image");
	check_ranges(TEXT, TEXT, NULL, 0, "nothing");
	check_ranges(DATA, TEXT, NULL, 0, "backwards");
	check_u64(memory_ranges(guest.memory, guest.root, TEXT, UINT64_MAX, &one, 1), 1,
		  "at most one range");
	check(one.end == image[0].end, "the range within the limit is the first one");
	map(USER, 0x1000, MADE_WRITE);
	map(LAST, 0x1000, MADE_WRITE);
	memory_refresh(guest.memory);
	check_ranges(0, 0x0000800000000000, low, 1, "the lower half");
	check_ranges(LAST - 0x1000, UINT64_MAX, top, 1, "up to the end");
	check_u64(memory_ranges(guest.memory, guest.root, 0, UINT64_MAX, &one, 1), 1,
		  "across addresses that are not canonical");
	end();
}

/* Where a page is stays known until a copy changes: of its page tables, too. */
static void test_kept_places(void)
{
	static char table[GUEST_PAGE_SIZE];
	size_t offset = (DATA >> GUEST_PAGE_SHIFT & 511) * sizeof(uint64_t);
	uint64_t first, second, value = 0;
	frame_t frame;

	begin();
	put_u64(DATA, 1);
	put_u64(DATA + 0x1000, 2);
	first = *entry(DATA, 1);
	second = *entry(DATA + 0x1000, 1);
	frame = FRAME((*entry(DATA, 2) & ~PTE_NX) >> GUEST_PAGE_SHIFT);
	check(read_u64(DATA, &value) && value == 1, "a page is read");
	*entry(DATA, 1) = second;
	check(read_u64(DATA, &value) && value == 1, "a page stays known when its table changes");
	memcpy(table + offset, &second, sizeof(second));
	memory_correct_copy(guest.memory, frame, table, offset, sizeof(second));
	check(read_u64(DATA, &value) && value == 2, "a page whose table was corrected");
	*entry(DATA, 1) = first;
	memory_refresh(guest.memory);
	check(read_u64(DATA, &value) && value == 1, "the page is read again after a refresh");
	end();
}

/* If one level forbids something, the page forbids it. */
static void test_flags_of_levels(void)
{
	const struct memory_range readable[] = { { TEXT, TEXT + 0x1000, false, false } };
	const struct memory_range all[] = { { TEXT, TEXT + 0x1000, true, true } };

	begin();
	map(TEXT, 0x1000, MADE_WRITE | MADE_EXECUTE);
	check_ranges(TEXT, TEXT + 0x200000, all, 1, "all levels allow");
	*entry(TEXT, 3) |= PTE_NX;
	*entry(TEXT, 2) &= ~PTE_W;
	memory_refresh(guest.memory);
	check_ranges(TEXT, TEXT + 0x200000, readable, 1, "two forbid");
	end();
}

/*
 * Every entry points to the top table. The walk ends after its levels, the ranges at their limit.
 */
static void test_tables_of_themselves(void)
{
	static struct memory_range ranges[8];
	size_t n;

	begin();
	for (unsigned i = 0; i < 512; i++)
		*entry((uint64_t)i << 39, 4) = guest.root.cr3 | PTE_P | (i & 1 ? PTE_NX : 0);
	n = memory_ranges(guest.memory, guest.root, 0, UINT64_MAX, ranges, 8);
	check(n == 8, "%zu ranges", n);
	for (unsigned i = 0; i < 512; i++)
		*entry((uint64_t)i << 39, 4) = guest.root.cr3 | PTE_P | PTE_W;
	memory_refresh(guest.memory);
	n = memory_ranges(guest.memory, guest.root, 0, UINT64_MAX, ranges, 8);
	check(n == 1 && ranges[0].end - ranges[0].start == (uint64_t)MEMORY_MAX_LEAVES
								   << GUEST_PAGE_SHIFT,
	      "the number of leaves has a limit: %" PRIx64, ranges[0].end - ranges[0].start);
	check_u64(memory_counts(guest.memory).pages, 2, "pages read: the top table, twice");
	end();
}

static void test_missing_tables(void)
{
	const struct memory_range rest[] = { { DATA, DATA + 0x1000, true, false } };
	uint64_t value;

	begin();
	map(TEXT, 0x1000, MADE_EXECUTE);
	map(DATA, 0x1000, MADE_WRITE);
	*entry(TEXT, 2) = 0xffffffULL << 12 | PTE_P; /* there is no such frame */
	check_ranges(0xffffffff80000000, 0xffffffffc0000000, rest, 1, "one table cannot be read");
	check(!read_u64(TEXT, &value), "nothing is read through it");
	*entry(TEXT, 4) |= PTE_PS;
	memory_refresh(guest.memory);
	check_ranges(0xffffffff80000000, 0xffffffffc0000000, NULL, 0, "a large page at level 4");
	end();
}

/* --- roots ------------------------------------------------------------------------------------ */

static void test_roots(void)
{
	struct memory_root process, la57;
	uint64_t value = 0;

	begin();
	put_u64(DATA, 1);
	process = made_root(guest.made);
	made_share_kernel(guest.made, process, guest.root);
	made_put_u64(guest.made, process, USER, 2);
	put_u64(DATA + 0x1000, 3);
	check(memory_read_u64(guest.memory, process, DATA, &value) && value == 1,
	      "a page of the kernel is shared");
	check(memory_read_u64(guest.memory, process, DATA + 0x1000, &value) && value == 3,
	      "a page of the kernel that was mapped later is shared");
	check(memory_read_u64(guest.memory, process, USER, &value) && value == 2,
	      "a page of the process itself");
	check(!read_u64(USER, &value), "the other root does not have a process's page");
	process.cr3 |= 0xfff;
	check(memory_read_u64(guest.memory, process, USER, &value) && value == 2,
	      "PCID and flags in CR3 do not matter");
	made_alias(guest.made, process, USER + 0x5000, guest.root, DATA, MADE_READ);
	memory_refresh(guest.memory);
	check(memory_read_u64(guest.memory, process, USER + 0x5000, &value) && value == 1,
	      "a page with two addresses");
	la57 = made_root_la57(guest.made);
	made_put_u64(guest.made, la57, 0xff11000012345678, 4);
	check(memory_read_u64(guest.memory, la57, 0xff11000012345678, &value) && value == 4,
	      "a word is read through five levels");
	check(!read_u64(0xff11000012345678, &value), "with four levels this is no address");
	end();
}

int main(void)
{
	test_read();
	test_end_of_addresses();
	test_strings();
	test_copies();
	test_prefetch();
	test_refused();
	test_many_pages();
	test_bulk();
	test_bulk_batches();
	test_give_back();
	test_ranges();
	test_kept_places();
	test_flags_of_levels();
	test_tables_of_themselves();
	test_missing_tables();
	test_roots();
	return tap_done();
}
