/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of arm64 over made-up tables: granules of 4, 16 and 64 KiB, blocks, 52-bit addresses
 * with both kinds of entries (LPA2 and LPA), top tables that are smaller than a page, and what is
 * damaged. The indices and places were worked out by hand from the table in memory/walk_arm64.c:
 * physical memory is a list of words, so a walk that reads any other word finds zero.
 *
 * In most of these tests the address is 0x12345678 above where its half begins, or above 2^47.
 */
#include "config.h"

#include "memory/walk_arm64.h"
#include "tests/memory/made_tables.h"
#include "tests/support/tap.h"
#include "xtop/memory/walk.h"

#define KERNEL    0xffff800012345678ULL /* a half of 48 bits; of 47 bits, its first addresses */
#define KERNEL_52 0xfff8000012345678ULL
#define USER      0x0000000012345678ULL

#define TCR_4K_48  (2ULL << 30 | 16ULL << 16 | 0ULL << 14 | 16)
#define TCR_16K_47 (1ULL << 30 | 17ULL << 16 | 2ULL << 14 | 17)
#define TCR_16K_48 (1ULL << 30 | 16ULL << 16 | 2ULL << 14 | 16)
#define TCR_64K_48 (3ULL << 30 | 16ULL << 16 | 1ULL << 14 | 16)
#define TCR_52     (12ULL << 16 | 12) /* instead of the two sizes */
#define TCR_SIZES  (0x3fULL << 16 | 0x3f)
#define TCR_IPS_52 (6ULL << 32)
#define TCR_DS     (1ULL << 59)
#define TCR_EPD0   (1ULL << 7)
#define TCR_EPD1   (1ULL << 23)

#define TABLE 3ULL
#define PAGE  3ULL
#define BLOCK 1ULL

/* --- physical memory -------------------------------------------------------------------------- */

static void begin(uint64_t tcr, uint64_t ttbr)
{
	n_pages = 0;
	regs = (struct registers){ .arch = ARCH_ARM64,
				   .arm64 = { .tcr = tcr, .ttbr0 = ttbr, .ttbr1 = ttbr } };
}

static void put(uint64_t physical, uint64_t entry)
{
	*word_at(physical) = entry;
}

static void check_page(uint64_t address, uint64_t frame, unsigned shift, const char *what)
{
	const struct walk_reader reader = { .table = table_of };
	struct walk_span span;
	frame_t found = FRAME(0xdead);
	enum walk_result result = walk(address, &span);

	check(result == WALK_OK && span.frame.value == frame && span.shift == shift &&
		      span.rest_bytes == (1ULL << shift) - (address & ((1ULL << shift) - 1)),
	      "%s: result %d, frame %#" PRIx64 ", shift %u, rest %#" PRIx64
	      " (expected frame %#" PRIx64 ", shift %u)",
	      what, result, span.frame.value, span.shift, span.rest_bytes, frame, shift);
	check(walk_find_frame(&reader, walk_root(&regs), GVA(address), &found) == WALK_OK &&
		      found.value == frame,
	      "%s: the frame alone", what);
}

static void check_none(uint64_t address, enum walk_result expected, uint64_t rest, const char *what)
{
	struct walk_span span;
	enum walk_result result = walk(address, &span);

	check(result == expected && span.rest_bytes == rest,
	      "%s: result %d, rest %#" PRIx64 " (expected %d, %#" PRIx64 ")", what, result,
	      span.rest_bytes, expected, rest);
}

/* --- 4 KiB ------------------------------------------------------------------------------------ */

/* KERNEL: level 0 entry 0x100, level 1 entry 0, level 2 entry 0x91, level 3 entry 0x145. */
static void make_4k(void)
{
	begin(TCR_4K_48, 0x40001000);
	put(0x40001800, 0x40002000 | TABLE);
	put(0x40002000, 0x40003000 | TABLE);
	put(0x40003488, 0x40004000 | TABLE);
	put(0x40004a28, 0xabcde000 | PAGE);
}

static void test_4k(void)
{
	make_4k();
	check_page(KERNEL, 0xabcde, 12, "4 KiB, page");
	put(0x40003488, 0xaa000000 | BLOCK);
	check_page(KERNEL, 0xaa145, 21, "4 KiB, block of 2 MiB");
	put(0x40002000, 0xc0000000 | BLOCK);
	check_page(KERNEL, 0xd2345, 30, "4 KiB, block of 1 GiB");
	put(0x40001800, 0x8000000000 | BLOCK);
	check_none(KERNEL, WALK_BAD, (1ULL << 39) - 0x12345678, "a block at level 0 without DS");
}

/* USER with 48 bits: entry 0 of level 0. With 39: no level 0. With 25: level 2 has 16 entries. */
static void test_sizes(void)
{
	begin(TCR_4K_48, 0x40002000);
	put(0x40002000, 0x40003000 | TABLE);
	put(0x40003000, 0x40004000 | TABLE);
	put(0x40004488, 0x40005000 | TABLE);
	put(0x40005a28, 0x1000 | PAGE);
	check_page(USER, 1, 12, "the lower half has its own tables");
	begin((TCR_4K_48 & ~TCR_SIZES) | 25, 0x40003000);
	put(0x40003000, 0x40004000 | TABLE);
	put(0x40004488, 0x40005000 | TABLE);
	put(0x40005a28, 0x2000 | PAGE);
	check_page(USER, 2, 12, "39 bits: three levels");
	begin((TCR_4K_48 & ~TCR_SIZES) | 39, 0x400047ff); /* the table has 128 bytes */
	put(0x400047c8, 0x40005000 | TABLE);
	put(0x40005a28, 0x3000 | PAGE);
	check_page(0x1345678, 3, 12, "25 bits: two levels, flags below the top table's size");
	check_none(0x2000000, WALK_NOT_CANONICAL, -0x2000000ULL, "26 bits are too many");
}

/* --- 16 KiB ----------------------------------------------------------------------------------- */

/* KERNEL: level 1 entry 0, level 2 entry 9, level 3 entry 0xd1; in the page 0x1678. */
static void test_16k(void)
{
	begin(TCR_16K_47, 0x40004000);
	put(0x40004000, 0x40008000 | TABLE);
	put(0x40008048, 0x4000c000 | TABLE);
	put(0x4000c688, 0xabcd4000 | PAGE);
	check_page(KERNEL, 0xabcd5, 14, "16 KiB, page");
	put(0x40008048, 0xaa000000 | BLOCK);
	check_page(KERNEL, 0xaa345, 25, "16 KiB, block of 32 MiB");
	put(0x40004000, 0xa000000000 | BLOCK);
	check_none(KERNEL, WALK_BAD, (1ULL << 36) - 0x12345678, "64 GiB without DS");
	begin(TCR_16K_48, 0x400010c0); /* level 0 has two entries, aligned to 64 bytes */
	put(0x400010c8, 0x40004000 | TABLE);
	put(0x40004000, 0x40008000 | TABLE);
	put(0x40008048, 0x4000c000 | TABLE);
	put(0x4000c688, 0xabcd4000 | PAGE);
	check_page(KERNEL, 0xabcd5, 14, "16 KiB, 48 bits");
}

/* --- 64 KiB ----------------------------------------------------------------------------------- */

/* KERNEL: level 1 entry 0x20 of 64, level 2 entry 0, level 3 entry 0x1234; in the page 0x5678. */
static void make_64k(uint64_t tcr, uint64_t ttbr)
{
	begin(tcr, ttbr);
	put(0x40000300, 0x40010000 | TABLE);
	put(0x40010000, 0x40020000 | TABLE);
	put(0x400291a0, 0xabc50000 | PAGE);
}

static void test_64k(void)
{
	make_64k(TCR_64K_48, 0x40000200);
	check_page(KERNEL, 0xabc55, 16, "64 KiB, page");
	put(0x400291a0, 0xabc50000 | 0x7000 | PAGE);
	check_page(KERNEL, 0xabc55, 16, "bits 15..12 of a page are no address");
	put(0x40010000, 0x60000000 | BLOCK);
	check_page(KERNEL, 0x72345, 29, "64 KiB, block of 512 MiB");
	put(0x40000300, 0x40000000000 | BLOCK);
	check_none(KERNEL, WALK_BAD, (1ULL << 42) - 0x12345678, "4 TiB without 52-bit addresses");
}

/* --- 52 bits ---------------------------------------------------------------------------------- */

static void test_wide_64k(void)
{
	make_64k(TCR_64K_48 | TCR_IPS_52, 0x40000200);
	put(0x400291a0, 0xabc50000 | 0x7000 | PAGE);
	check_page(KERNEL, 0x70000abc55, 16, "64 KiB, an address of 52 bits");
	put(0x40000300, 0x40000000000 | 0x3000 | BLOCK);
	check_page(KERNEL, 0x3040012345, 42, "64 KiB, block of 4 TiB");
	begin(TCR_64K_48 | TCR_IPS_52, 0x40000200 | 0xfULL << 2);
	put(0xf000040000300, 0x80000000000 | BLOCK);
	check_page(KERNEL, 0x80012345, 42, "the top table has an address of 52 bits");
	/* KERNEL_52: level 1 entry 0x200 of 1,024 */
	begin((TCR_64K_48 & ~TCR_SIZES) | TCR_52 | TCR_IPS_52, 0x40002000);
	put(0x40003000, 0x40010000 | TABLE);
	put(0x40010000, 0x40020000 | TABLE);
	put(0x400291a0, 0x10000 | PAGE);
	check_page(KERNEL_52, 0x15, 16, "a top table of 8 KiB");
}

/* KERNEL_52: level -1 entry 8 of 16, level 0 entry 0, then as KERNEL. */
static void make_lpa2(uint64_t ttbr)
{
	begin((TCR_4K_48 & ~TCR_SIZES) | TCR_52 | TCR_DS | TCR_IPS_52, ttbr);
	put(0x400000c0, 0x40002000 | 3ULL << 8 | TABLE); /* place 0xc000040002000 */
	put(0xc000040002000, 0x40003000 | TABLE);
	put(0x40003000, 0x40004000 | TABLE);
	put(0x40004488, 0x40005000 | TABLE);
	put(0x40005a28, 3ULL << 48 | 0x1000 | 1ULL << 8 | PAGE);
}

static void test_lpa2(void)
{
	make_lpa2(0x40000080);
	check_page(KERNEL_52, 0x7000000001, 12, "4 KiB, five levels, 52 bits");
	put(0xc000040002000, 0x8000000000 | BLOCK);
	check_page(KERNEL_52, 0x8012345, 39, "4 KiB, block of 512 GiB");
	make_lpa2(0x40000080 | 1ULL << 2);
	put(0x10000400000c0, 0x40002000 | TABLE);
	put(0x40002000, 0x8000000000 | BLOCK);
	check_page(KERNEL_52, 0x8012345, 39, "the top table is above 48 bits");
	/* that half by pages of 16 KiB: level 0 bits 51..47, entry 0x10 of 32 */
	begin((TCR_16K_48 & ~TCR_SIZES) | TCR_52 | TCR_DS, 0x40001100);
	put(0x40001180, 0x40004000 | TABLE);
	put(0x40004000, 0xa000000000 | 2ULL << 8 | BLOCK);
	check_page(KERNEL_52, 0x800a012345, 36, "16 KiB, block of 64 GiB");
}

/* --- flags ------------------------------------------------------------------------------------ */

static void check_rights(uint64_t address, bool writable, bool executable, const char *what)
{
	struct walk_span span;
	enum walk_result result = walk(address, &span);

	check(result == WALK_OK && span.writable == writable && span.executable == executable,
	      "%s: result %d, %s%s", what, result, span.writable ? "w" : "-",
	      span.executable ? "x" : "-");
}

static void test_rights(void)
{
	const uint64_t pxn = 1ULL << 53, uxn = 1ULL << 54, read_only = 1ULL << 7;
	uint64_t *page, *table;

	make_4k();
	page = word_at(0x40004a28);
	table = word_at(0x40002000);
	check_rights(KERNEL, true, true, "no flags");
	*page |= uxn | read_only;
	check_rights(KERNEL, false, true, "a kernel's code: UXN, AP[2]");
	*page = 0xabcde000 | PAGE | pxn;
	check_rights(KERNEL, true, false, "a kernel's data: PXN");
	*page = 0xabcde000 | PAGE;
	*table |= 1ULL << 62;
	check_rights(KERNEL, false, true, "APTable[1] above");
	*table = 0x40003000 | TABLE | 1ULL << 59;
	check_rights(KERNEL, true, false, "PXNTable above");
	*table = 0x40003000 | TABLE | 1ULL << 60 | 1ULL << 61;
	check_rights(KERNEL, true, true, "UXNTable and APTable[0] above");

	begin((TCR_4K_48 & ~TCR_SIZES) | 39, 0x40004000);
	put(0x40004048, 0x40005000 | TABLE | 1ULL << 59);
	put(0x40005a28, 0x3000 | PAGE | pxn);
	check_rights(0x1345678, true, true, "a program's code: PXN");
	*word_at(0x40005a28) |= uxn;
	check_rights(0x1345678, true, false, "a program's data: UXN");
}

/* Attributes, shareability, AF, nG, contiguous, software's bits; the ASID and CnP of TTBRx. */
static void test_bits_that_are_no_address(void)
{
	const uint64_t flags = 0x1fULL << 55 | 1ULL << 52 | 1ULL << 51 | 1ULL << 50 | 0xf7c;

	make_4k();
	regs.arm64.ttbr1 |= 0xffffULL << 48 | 1;
	*word_at(0x40004a28) |= flags;
	*word_at(0x40003488) |= 0xf7c | 1ULL << 51 | 1ULL << 50;
	check_page(KERNEL, 0xabcde, 12, "4 KiB");
	put(0x40003488, 0xaa000000 | 1ULL << 16 | flags | BLOCK); /* nT */
	check_page(KERNEL, 0xaa145, 21, "2 MiB");
}

/* --- nothing there, and damage ---------------------------------------------------------------- */

static void test_missing(void)
{
	struct walk_span span;

	make_4k();
	*word_at(0x40004a28) &= ~1ULL;
	check_none(KERNEL, WALK_NOT_PRESENT, 0x988, "no page");
	put(0x40004a28, 0xabcde000 | BLOCK);
	check_none(KERNEL, WALK_NOT_PRESENT, 0x988, "a block at level 3 is nothing");
	put(0x40003488, 0x40004000 | 2);
	check_none(KERNEL, WALK_NOT_PRESENT, 0x200000 - 0x145678, "no table");
	put(0x40003488, 0x50000000 | TABLE);
	check_none(KERNEL, WALK_NOT_MAPPED, 0x200000 - 0x145678, "a table that is not mapped");
	walk(KERNEL, &span);
	check_u64(span.frame.value, 0x50000, "frame of a table that is not mapped");
	make_64k(TCR_64K_48, 0x40000200);
	put(0x40010000, 0x50000000 | TABLE);
	check_none(KERNEL, WALK_NOT_MAPPED, 0x2000000 - 0x345678,
		   "one of 16 pages of a table is not mapped");
	walk(KERNEL, &span);
	check_u64(span.frame.value, 0x50009, "frame of a table's page that is not mapped");
}

static void test_halves(void)
{
	make_4k();
	check_none(0x0001000000000000, WALK_NOT_CANONICAL, -0x2000000000000ULL, "below the upper half");
	check_none(0xfffeffffffffffff, WALK_NOT_CANONICAL, 1, "the last one below the upper half");
	check_none(0xff00000012345678, WALK_NOT_CANONICAL,
		   0xffff000000000000 - 0xff00000012345678, "an address with a tag");
	regs.arm64.tcr |= TCR_EPD1;
	check_none(KERNEL, WALK_NOT_PRESENT, 0x800000000000 - 0x12345678, "EPD1");
	regs.arm64.tcr ^= TCR_EPD1 | TCR_EPD0;
	check_page(KERNEL, 0xabcde, 12, "EPD0 is the other half's");
	check_none(USER, WALK_NOT_PRESENT, (1ULL << 48) - USER, "EPD0");
}

/* What no kernel sets, and a recording may contain. */
static void test_damaged_registers(void)
{
	const uint64_t half = (1ULL << 63) - USER;
	struct walk_span span;
	unsigned n = 0;

	begin((TCR_4K_48 & ~TCR_SIZES) | 11, 0x40001000);
	check_none(USER, WALK_BAD, half, "a half of 53 bits");
	begin((TCR_64K_48 & ~TCR_SIZES) | 48, 0x40001000);
	check_none(USER, WALK_BAD, half, "a half that is one page");
	begin(TCR_4K_48 | 3ULL << 14, 0x40001000);
	check_none(USER, WALK_BAD, half, "a reserved granule");
	begin(TCR_4K_48 & ~(3ULL << 30), 0x40001000);
	check_none(1ULL << 63 | USER, WALK_BAD, half, "a reserved granule of the upper half");
	for (unsigned i = 0; i < 1 << 19; i++) { /* all sizes and granules, DS and IPS */
		begin((uint64_t)(i & 0xff) << 14 >> 0 | (i >> 8 & 0x3f) | (uint64_t)(i >> 14 & 3) << 30 |
			      (i >> 16 & 1 ? TCR_DS : 0) | (i >> 17 & 1 ? TCR_IPS_52 : 0),
		      0x40001000);
		n += walk(i >> 18 ? KERNEL : USER, &span) != WALK_OK && span.rest_bytes > 0;
	}
	check_u64(n, 1 << 19, "any registers end the walk");
}

static void test_index(void)
{
	struct memory_root root;

	make_64k(TCR_64K_48, 0x40000200);
	root = walk_root(&regs);
	check_u64(walk_index(root, GVA(KERNEL), 0), 0x300 / 8, "64 KiB, the top table's word");
	check_u64(walk_index(root, GVA(KERNEL), 1), 0, "64 KiB, the middle table's word");
	check_u64(walk_index(root, GVA(KERNEL), 2), 0x1a0 / 8,
		  "64 KiB, the last table's word in its page");
	check_u64(walk_index(root, GVA(KERNEL), 3), 0, "64 KiB, word of a fourth table");
}

/* --- the inlined walk ------------------------------------------------------------------------- */

#define RANDOM_WALKS 200000

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

/* Entries that mostly lead to one of four tables. */
static void fill_tables(uint64_t *random)
{
	n_pages = 0;
	for (unsigned i = 0; i < 4 * 512; i++) {
		uint64_t draw = next_random(random), flags = draw & 0xf870000000000083ULL;

		put(0x1000 + 8 * i, flags | (draw >> 8 & 7) << 12 | (draw >> 11 & 1) << 40 |
					    (draw >> 12 & 7 ? 3 : draw >> 15 & 3));
	}
}

/* All that a walk says, as far as its result has it. */
static bool is_same_span(enum walk_result result, const struct walk_span *a,
			 const struct walk_span *b)
{
	if (a->rest_bytes != b->rest_bytes)
		return false;
	if (result == WALK_NOT_MAPPED)
		return a->frame.value == b->frame.value;
	return result != WALK_OK ||
	       (a->frame.value == b->frame.value && a->shift == b->shift &&
		a->writable == b->writable && a->executable == b->executable);
}

/* walk() inlines the walk of 4 KiB pages: it must say what walk_arm64() says of any tables. */
static void test_inlined(void)
{
	uint64_t random = 1, differ = 0, found = 0;

	for (unsigned i = 0; i < RANDOM_WALKS; i++) {
		struct walk_span span = { .rest_bytes = 0 }, other = { .rest_bytes = 0 };
		uint64_t bits = next_random(&random) & 1 ? 16 : 25, draw = next_random(&random);
		uint64_t address = (draw & 1 ? -1ULL << (64 - bits) : 0) |
				   (draw >> 1 & ((1ULL << (64 - bits)) - 1));
		enum walk_result result;

		if (i % 1000 == 0)
			fill_tables(&random);
		regs.arm64.tcr = 2ULL << 30 | bits << 16 | bits | (draw >> 60 ? 0 : 1 << 7) |
				 (draw >> 56 & 15 ? 0 : 1 << 23);
		regs.arm64.ttbr0 = regs.arm64.ttbr1 = 0x1000;
		result = walk(address ^ (draw >> 50 & 15 ? 0 : 1ULL << 60), &span);
		found += result == WALK_OK;
		differ += result != walk_arm64(table_of, NULL, walk_root(&regs),
					       address ^ (draw >> 50 & 15 ? 0 : 1ULL << 60),
					       &other) ||
			  !is_same_span(result, &span, &other);
	}
	check(!differ && found > RANDOM_WALKS / 100, "random tables: %" PRIu64 " of %d walks found, "
	      "%" PRIu64 " differ", found, RANDOM_WALKS, differ);
}

int main(void)
{
	test_4k();
	test_sizes();
	test_16k();
	test_64k();
	test_wide_64k();
	test_lpa2();
	test_rights();
	test_bits_that_are_no_address();
	test_missing();
	test_halves();
	test_damaged_registers();
	test_index();
	test_inlined();
	return tap_done();
}
