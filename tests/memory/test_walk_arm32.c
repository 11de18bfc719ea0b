/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of a kernel of 32 bits on arm64 over made-up tables: short descriptors (sections, both
 * sizes of pages, TTBR1 by TTBCR.N), long ones (LPAE), what is off and what is damaged. The places
 * of entries were worked out by hand from the tables in memory/walk_arm32.c: physical memory is a
 * list of words of 4 bytes, so a walk that reads any other word finds zero.
 */
#include "config.h"

#include "tests/memory/made_tables.h"
#include "tests/support/tap.h"
#include "xtop/memory/walk.h"

/* Entry 0xc03 of level 1, at byte 0x300c; entry 0x45 of level 2, at byte 0x114. */
#define HIGH 0xc0345678ULL
/* Entry 0x003, at byte 0x00c. */
#define LOW  0x00345678ULL

#define TABLE  0x40004000ULL /* table of level 1, 16 KiB */
#define OTHER  0x40010000ULL
#define SECOND 0x40020c00ULL /* the last quarter of its page */
#define FLAGS  0x4aULL       /* flags of TTBR with short descriptors: how tables are cached */

#define EAE (1ULL << 31)

static void begin(uint64_t ttbcr)
{
	uint64_t flags = ttbcr & EAE ? 0 : FLAGS;

	n_pages = 0;
	regs = (struct registers){ .arch = ARCH_ARM64,
				   .arm64 = { .pstate = 0x13,
					      .tcr = ttbcr,
					      .ttbr0 = TABLE | flags,
					      .ttbr1 = OTHER | flags } };
}

static void put(uint64_t physical, uint32_t entry)
{
	*word_at(physical) |= (uint64_t)entry << (physical % 8 * 8);
}

static void check_page(uint64_t address, uint64_t frame, unsigned shift, const char *rights,
		       const char *what)
{
	struct walk_span span;
	enum walk_result result = walk(address, &span);

	check(result == WALK_OK && span.frame.value == frame && span.shift == shift &&
		      span.rest_bytes == (1ULL << shift) - (address & ((1ULL << shift) - 1)),
	      "%s: result %d, frame %#" PRIx64 ", shift %u (expected %#" PRIx64 ", %u)", what, result,
	      span.frame.value, span.shift, frame, shift);
	check(span.writable == (rights[0] == 'w') && span.executable == (rights[1] == 'x'),
	      "%s: %swritable, %sexecutable (expected %s)", what, span.writable ? "" : "not ",
	      span.executable ? "" : "not ", rights);
}

static void check_none(uint64_t address, enum walk_result expected, uint64_t rest, const char *what)
{
	struct walk_span span;
	enum walk_result result = walk(address, &span);

	check(result == expected && span.rest_bytes == rest,
	      "%s: result %d, rest %#" PRIx64 " (expected %d, %#" PRIx64 ")", what, result,
	      span.rest_bytes, expected, rest);
}

/* --- short descriptors ------------------------------------------------------------------------ */

static void test_sections(void)
{
	begin(0);
	put(TABLE + 0x300c, 0x50300c02);
	check_page(HIGH, 0x50345, 20, "wx", "a section");
	begin(0);
	put(TABLE + 0x300c, 0x50308c12);
	check_page(HIGH, 0x50345, 20, "--", "AP[2] and XN of a section");
	begin(0);
	put(TABLE + 0x300c, 0x50300c03);
	check_page(HIGH, 0x50345, 20, "wx", "PXN of a section");
	begin(0);
	put(TABLE + 0x300c, 0x51a40c62);
	check_page(HIGH, 0x3a51345, 24, "wx", "16 MiB at an address of 40 bits");
	begin(0);
	put(TABLE + 0x300c, 0x50300c00);
	check_none(HIGH, WALK_NOT_PRESENT, 0x100000 - 0x45678, "no section");
}

static void make_table(void)
{
	begin(0);
	put(TABLE + 0x300c, SECOND | 1);
}

static void test_pages(void)
{
	make_table();
	put(SECOND + 0x114, 0x5abcd032);
	check_page(HIGH, 0x5abcd, 12, "wx", "4 KiB");
	make_table();
	put(SECOND + 0x114, 0x5abcd233);
	check_page(HIGH, 0x5abcd, 12, "--", "AP[2] and XN of 4 KiB");
	make_table();
	put(SECOND + 0x114, 0x5abc0031);
	check_page(HIGH, 0x5abc5, 16, "wx", "64 KiB");
	make_table();
	put(SECOND + 0x114, 0x5abc8231);
	check_page(HIGH, 0x5abc5, 16, "--", "AP[2] and XN of 64 KiB");
	make_table();
	put(SECOND + 0x110, 0x5abcd032);
	check_none(HIGH, WALK_NOT_PRESENT, 0x1000 - 0x678, "no page");
	begin(0);
	put(TABLE + 0x300c, SECOND | 1);
	check_none(HIGH, WALK_NOT_MAPPED, 0x100000 - 0x45678, "the second table cannot be read");
	begin(0);
	check_none(HIGH, WALK_NOT_MAPPED, 0x40000000 - 0x345678, "the first table cannot be read");
	check_none(1ULL << 32 | LOW, WALK_NOT_CANONICAL, -(1ULL << 32 | LOW), "above 4 GiB");
}

/* TTBCR.N 1: the lower 2 GiB have a table of 8 KiB in TTBR0, and TTBR1 has one for all. */
static void test_halves(void)
{
	begin(1);
	put(OTHER + 0x300c, 0x50300c02);
	put(TABLE + 0x000c, 0x60300c02);
	check_page(HIGH, 0x50345, 20, "wx", "TTBR1");
	check_page(LOW, 0x60345, 20, "wx", "TTBR0");
	regs.arm64.ttbr0 = 0x40006000 | FLAGS;
	put(0x4000600c, 0x70300c02);
	check_page(LOW, 0x70345, 20, "wx", "TTBR0 at a multiple of 8 KiB");
	regs.arm64.tcr |= 1 << 4;
	check_none(LOW, WALK_NOT_PRESENT, 0x100000 - 0x45678, "PD0");
	check_page(HIGH, 0x50345, 20, "wx", "PD0 is the other half's");
	regs.arm64.tcr ^= 3 << 4;
	check_none(HIGH, WALK_NOT_PRESENT, 0x100000 - 0x45678, "PD1");
	begin(7);
	regs.arm64.ttbr0 = 0x40004080 | FLAGS;
	put(0x4000408c, 0x60300c02);
	put(OTHER + 0x80, 0x50300c02);
	check_page(LOW, 0x60345, 20, "wx", "32 MiB in a table of 128 bytes");
	check_page(0x02000000, 0x50300, 20, "wx", "what is above has TTBR1");
}

/* --- long descriptors ------------------------------------------------------------------------- */

static void put_long(uint64_t physical, uint64_t entry)
{
	put(physical, (uint32_t)entry);
	put(physical + 4, (uint32_t)(entry >> 32));
}

/* HIGH: level 1 entry 3, level 2 entry 1, level 3 entry 0x145. */
static void test_long(void)
{
	begin(EAE);
	regs.arm64.ttbr0 = TABLE + 0x20;
	put_long(TABLE + 0x38, OTHER | 3);
	put_long(OTHER + 8, 0x4002a003);
	put_long(0x4002a000 + 8 * 0x145, 0xf1abcd70f);
	check_page(HIGH, 0xf1abcd, 12, "wx", "4 KiB of three levels, at 32 bytes");
	*word_at(OTHER + 8) = 0x5000000000000000 | 0x4002a003;
	check_page(HIGH, 0xf1abcd, 12, "--", "APTable and XNTable");
	*word_at(OTHER + 8) = 0x40000060000781;
	check_page(HIGH, 0x60145, 21, "--", "2 MiB, with AP[2] and XN");
	*word_at(TABLE + 0x38) = 0x80000701;
	check_page(HIGH, 0x80345, 30, "wx", "1 GiB");
	*word_at(TABLE + 0x38) = OTHER | 3;
	*word_at(OTHER + 8) = 0x4002a003;
	*word_at(0x4002a000 + 8 * 0x145) = 0x1abcd701;
	check_none(HIGH, WALK_NOT_PRESENT, 0x1000 - 0x678, "a block at the last level");
	*word_at(OTHER + 8) = 0x4002b003;
	check_none(HIGH, WALK_NOT_MAPPED, 0x200000 - 0x145678, "a table that cannot be read");
}

/* T1SZ 2, T0SZ 0: TTBR1 has the highest GiB, and begins at level 2. */
static void test_long_halves(void)
{
	begin(EAE | 2 << 16);
	put_long(OTHER + 8, 0x60000701);
	put_long(TABLE, 0x80000701);
	check_page(HIGH, 0x60145, 21, "wx", "the upper half begins at level 2");
	check_page(LOW, 0x80345, 30, "wx", "the lower half at level 1");
	regs.arm64.tcr |= 1 << 7;
	check_none(LOW, WALK_NOT_PRESENT, 0x100000 - 0x45678, "EPD0");
	regs.arm64.tcr ^= 1 << 7 | 1 << 23;
	check_none(HIGH, WALK_NOT_PRESENT, 0x100000 - 0x45678, "EPD1");
	begin(EAE | 2 << 16 | 2);
	put_long(TABLE + 8, 0x70000701);
	check_page(LOW, 0x70145, 21, "wx", "a lower half of 1 GiB");
	check_none(0x40000000, WALK_NOT_CANONICAL, 0x100000, "between the halves");
	begin(EAE | 1);
	put_long(OTHER + 8 * 3, 0x40000701);
	check_page(HIGH, 0x40345, 30, "wx", "T1SZ 0: all that T0SZ leaves");
}

/* --- whose tables they are -------------------------------------------------------------------- */

static void check_is_32(uint64_t cpsr, uint64_t tcr, bool expected, const char *what)
{
	regs.arm64.pstate = cpsr;
	regs.arm64.tcr = tcr;
	check(registers_is_arm32(&regs) == expected &&
		      walk_root(&regs).width == (expected ? ROOT_ARM32 : ROOT_ARM64),
	      "%s", what);
}

static void test_kinds(void)
{
	begin(0);
	check_is_32(0x5, 0, false, "AArch64 state");
	check_is_32(0x60000013, 0x35193519, true, "svc mode, whatever TTBCR is");
	check_is_32(0x10, 1, true, "user code under short descriptors");
	check_is_32(0x10, EAE | 2 << 16 | 7, true, "user code under long descriptors");
	check_is_32(0x10, 2ULL << 30 | 25 << 16 | 25, false, "32-bit program of a 64-bit kernel");
	check_is_32(0x10, 1ULL << 30 | 16 << 16 | 2 << 14 | 16, false,
		    "32-bit program of a kernel with 16 KiB pages");
	check_is_32(0x10, 3ULL << 30 | 12 << 16 | 1 << 14 | 12, false,
		    "32-bit program of a kernel with 64 KiB pages");
	check(!pstate_arm64_is_user(0x13) && !pstate_arm64_is_user(0x12) &&
		      !pstate_arm64_is_user(0x1f) && pstate_arm64_is_user(0x60000010),
	      "only usr mode is user code");
}

/* The words that a walk reads, for recordings. */
static void test_index(void)
{
	struct memory_root root;

	begin(0);
	root = walk_root(&regs);
	check_u64(walk_index(root, GVA(HIGH), 0), 0x00c / 8, "the entry of level 1 in its page");
	check_u64(walk_n_places(root, 0), 1, "places of the table of level 1");
	check_u64(walk_index(root, GVA(HIGH), 1), 0x110 / 8, "the entry of level 2 in a quarter");
	check_u64(walk_n_places(root, 1), 4, "places of the table of level 2");
	begin(EAE);
	root = walk_root(&regs);
	check_u64(walk_index(root, GVA(HIGH), 0), 3, "long descriptors: the entry of level 1");
	check_u64(walk_index(root, GVA(HIGH), 1), 1, "long descriptors: the entry of level 2");
	check_u64(walk_index(root, GVA(HIGH), 2), 0x145, "long descriptors: the entry of level 3");
	check_u64(walk_n_places(root, 1), 1, "long descriptors: places of a table");
}

int main(void)
{
	test_sections();
	test_pages();
	test_halves();
	test_long();
	test_long_halves();
	test_kinds();
	test_index();
	return tap_done();
}
