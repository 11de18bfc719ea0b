/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of mapped frames, by address: the page tables of x86 and arm64 on the way to a page. */
#include "config.h"

#include "frame_cache_fixture.h"
#include "xtop/memory/walk.h"

#define ADDRESS      0xffffc90000200000ULL
#define OTHER_REGION 0x600000ULL /* three tables of level 1 further */

static void check_page(enum walk_result got, enum walk_result result, const void *const *page,
		       unsigned char first, const char *what)
{
	check(got == result && (got != WALK_OK || *(const unsigned char *)*page == first),
	      "%s: result %d (expected %d)", what, got, result);
}

/* During one stop the last table is kept. In the next stop it may be another table. */
static void test_pages_by_address(void)
{
	struct memory_root root, other;
	const void *page = NULL;
	uint64_t *entry;

	begin(64, 0);
	root = walk_root(&memory->regs[0]);
	other = (struct memory_root){ .cr3 = memory_guest_new_table(memory) << 12 };
	for (uint64_t i = 0; i < 2; i++) {
		memory_guest_map(memory, root.cr3, ADDRESS + i * GUEST_PAGE_SIZE, 10 + i);
		memset(memory_guest_page(memory, 10 + i), (int)(1 + i), GUEST_PAGE_SIZE);
	}
	memory_guest_map(memory, other.cr3, ADDRESS, 20);
	memset(memory_guest_page(memory, 20), 3, GUEST_PAGE_SIZE);
	check_page(frame_cache_find_page(cache, root, GVA(ADDRESS), &page), WALK_NOT_MAPPED, &page,
		   0, "a page before any table is mapped");
	check_page(frame_cache_get_page(cache, root, GVA(ADDRESS), 0, &page), WALK_OK, &page, 1,
		   "get maps tables and page");
	check_page(frame_cache_get_page(cache, root, GVA(ADDRESS + 0x1000), 0, &page), WALK_OK,
		   &page, 2, "get maps the next page");
	check_page(frame_cache_get_page(cache, other, GVA(ADDRESS), 0, &page), WALK_OK, &page, 3,
		   "get maps a page of another root");
	frame_cache_stop(cache);
	check_page(frame_cache_find_page(cache, root, GVA(ADDRESS), &page), WALK_OK, &page, 1,
		   "a page whose tables are mapped is found");
	check_page(frame_cache_find_page(cache, root, GVA(ADDRESS + 0x1000), &page), WALK_OK, &page,
		   2, "the next page is found by the same table");
	check_page(frame_cache_find_page(cache, other, GVA(ADDRESS), &page), WALK_OK, &page, 3,
		   "the page of the other root is found by its own table");
	check_page(frame_cache_find_page(cache, root, GVA(ADDRESS + 0x2000), &page),
		   WALK_NOT_PRESENT, &page, 0, "a hole in the table");
	entry = memory_guest_entry(memory, root.cr3, 4, 2, ADDRESS);
	*entry = 0;
	frame_cache_stop(cache);
	check_page(frame_cache_find_page(cache, root, GVA(ADDRESS), &page), WALK_NOT_PRESENT, &page,
		   0, "a table that is gone in the next stop");
	memory_guest_map(memory, root.cr3, ADDRESS, 20);
	*memory_guest_entry(memory, root.cr3, 4, 2, ADDRESS) = 20ULL << 12 | PTE_PS | PTE_P;
	frame_cache_stop(cache);
	check_page(frame_cache_find_page(cache, root, GVA(ADDRESS), &page), WALK_NOT_MAPPED, &page,
		   0, "a large page in the table's place, not mapped");
	end("pages by address");
}

/* A stack and the kernel's variables lie apart. Both tables stay known. */
static void test_tables_of_two_regions(void)
{
	struct memory_root root;
	const void *page = NULL;

	begin(64, 0);
	root = walk_root(&memory->regs[0]);
	for (uint64_t i = 0; i < 2; i++) {
		memory_guest_map(memory, root.cr3, ADDRESS + i * OTHER_REGION, 10 + i);
		memset(memory_guest_page(memory, 10 + i), (int)(1 + i), GUEST_PAGE_SIZE);
		check_page(frame_cache_get_page(cache, root, GVA(ADDRESS + i * OTHER_REGION), 0,
						&page),
			   WALK_OK, &page, (unsigned char)(1 + i), "get maps a page of a region");
	}
	frame_cache_stop(cache);
	for (uint64_t i = 0; i < 2; i++)
		check_page(
			frame_cache_find_page(cache, root, GVA(ADDRESS + i * OTHER_REGION), &page),
			WALK_OK, &page, (unsigned char)(1 + i), "the region's page is found");
	for (uint64_t i = 0; i < 2; i++) {
		*memory_guest_entry(memory, root.cr3, 4, 2, ADDRESS + i * OTHER_REGION) = 0;
		check_page(
			frame_cache_find_page(cache, root, GVA(ADDRESS + i * OTHER_REGION), &page),
			WALK_OK, &page, (unsigned char)(1 + i),
			"the region's page is found without a walk");
	}
	frame_cache_stop(cache);
	for (uint64_t i = 0; i < 2; i++)
		check_page(
			frame_cache_find_page(cache, root, GVA(ADDRESS + i * OTHER_REGION), &page),
			WALK_NOT_PRESENT, &page, 0,
			"the region's page in the next stop, without its table");
	end("tables of two regions");
}

/* Without a walk, the next stop sees any entry on the way to a page that has changed. */
static void test_path_of_an_earlier_stop(void)
{
	static const char *const whats[] = { "no entry", "level 1", "level 2", "level 3",
					     "level 4" };
	struct memory_root root;
	const void *page = NULL;
	unsigned found = 0;

	begin(64, 0);
	root = walk_root(&memory->regs[0]);
	memory_guest_map(memory, root.cr3, ADDRESS, 10);
	memset(memory_guest_page(memory, 10), 1, GUEST_PAGE_SIZE);
	frame_cache_get_page(cache, root, GVA(ADDRESS), 0, &page);
	frame_cache_stop(cache);
	frame_cache_find_page(cache, root, GVA(ADDRESS), &page);
	for (unsigned level = 0; level <= 4; level++) {
		uint64_t *entry =
			level ? memory_guest_entry(memory, root.cr3, 4, level, ADDRESS) : NULL;
		uint64_t was = level ? *entry : 0;

		frame_cache_stop(cache);
		check_page(frame_cache_find_page(cache, root, GVA(ADDRESS), &page), WALK_OK, &page,
			   1, "the page is found in the next stop");
		if (!level)
			continue;
		*entry = 0;
		frame_cache_stop(cache);
		check_page(frame_cache_find_page(cache, root, GVA(ADDRESS), &page),
			   WALK_NOT_PRESENT, &page, 0, whats[level]);
		*entry = was;
	}
	/* The tables count as used: the hand unmaps none of them for good. */
	for (uint64_t i = 1; i <= 500; i++) {
		frame_cache_stop(cache);
		found += frame_cache_find_page(cache, root, GVA(ADDRESS), &page) == WALK_OK;
		frame_cache_sweep(cache, i * ROUND / 100);
	}
	check_u64(found, 500, "the page is found in each stop of five rounds");
	frame_cache_drop(cache);
	frame_cache_stop(cache);
	check_page(frame_cache_find_page(cache, root, GVA(ADDRESS), &page), WALK_NOT_MAPPED, &page,
		   0, "nothing is found after the tables were unmapped");
	end("path of an earlier stop");
}

/* A vCPU may have 0 in CR3. */
static void test_path_of_nothing(void)
{
	const void *page = NULL;

	begin(64, 0);
	frame_cache_stop(cache);
	check_page(frame_cache_find_page(cache, (struct memory_root){ .cr3 = 0 }, GVA(0), &page),
		   WALK_NOT_MAPPED, &page, 0, "a root of zeros: nothing is mapped");
	end("path of nothing");
}

/* The page itself is not mapped, only the tables. */
static void test_frame_by_address(void)
{
	struct memory_root root;
	frame_t frame = FRAME(0);

	begin(64, 0);
	root = (struct memory_root){ .cr3 = memory->regs[0].cr3 };
	memory_guest_map(memory, root.cr3, ADDRESS, 10);
	frame_cache_stop(cache);
	check(frame_cache_find_frame(cache, root, GVA(ADDRESS), &frame) == WALK_NOT_MAPPED &&
		      frame.value == 0,
	      "no page table is mapped yet");
	check(frame_cache_get_frame(cache, root, GVA(ADDRESS), 0, &frame) == WALK_OK &&
		      frame.value == 10,
	      "get_frame maps the tables");
	check_u64(frame_cache_pages(cache), 4, "get_frame maps four tables and no page");
	frame = FRAME(0);
	check(frame_cache_find_frame(cache, root, GVA(ADDRESS + 5), &frame) == WALK_OK &&
		      frame.value == 10,
	      "the frame of an address is found");
	check(frame_cache_find_frame(cache, root, GVA(ADDRESS + GUEST_PAGE_SIZE), &frame) ==
		      WALK_NOT_PRESENT,
	      "the frame of an address in a hole is not found");
	end("frame by address");
}

/* --- arm64 ------------------------------------------------------------------------------------ */

#define ARM_ADDRESS 0xffffff8000200000ULL /* upper half of 39 bits: entries 0, 1, 0 of its tables */
#define ARM_TCR     (2ULL << TCR_ARM64_TG1_SHIFT | 25ULL << TCR_ARM64_T1SZ_SHIFT | 25)
#define ARM_TABLE   0x703
#define ARM_PAGES   (64 << 12) /* a root, a table, tables of pages */

static struct memory_root arm_root(uint64_t tcr, uint64_t table)
{
	struct registers regs = { .arch = ARCH_ARM64 };

	regs.arm64.tcr = tcr;
	regs.arm64.ttbr1 = table;
	return walk_root(&regs);
}

static uint64_t *arm_entry(uint64_t frame, unsigned index)
{
	return (uint64_t *)memory_guest_page(memory, frame) + index;
}

static void check_arm(struct memory_root root, uint64_t address, enum walk_result result,
		      unsigned char first, const char *what)
{
	const void *page = NULL;

	check_page(frame_cache_find_page(cache, root, GVA(address), &page), result, &page, first,
		   what);
}

/* Tables in frames 64, 65, 66 have pages in 10 and 11; a second root, 67, has frame 12 there. */
static void make_arm(struct memory_root root)
{
	const void *page;

	*arm_entry(64, 0) = 65 << 12 | ARM_TABLE;
	*arm_entry(65, 1) = 66 << 12 | ARM_TABLE;
	*arm_entry(67, 0) = 68 << 12 | ARM_TABLE;
	*arm_entry(68, 1) = 69 << 12 | ARM_TABLE;
	*arm_entry(66, 0) = 10 << 12 | ARM_TABLE;
	*arm_entry(66, 1) = 11 << 12 | ARM_TABLE;
	*arm_entry(66, 2) = 12 << 12 | 1; /* no block at this level */
	*arm_entry(69, 0) = 12 << 12 | ARM_TABLE;
	for (uint64_t i = 0; i < 3; i++)
		memset(memory_guest_page(memory, 10 + i), (int)(1 + i), GUEST_PAGE_SIZE);
	for (uint64_t i = 0; i < 3; i++)
		frame_cache_get_page(cache, root, GVA(ARM_ADDRESS + i * GUEST_PAGE_SIZE), 0, &page);
}

static void test_pages_of_arm64(void)
{
	struct memory_root root = arm_root(ARM_TCR, ARM_PAGES), other = arm_root(ARM_TCR, 67 << 12);
	const void *page;

	begin(64, 0);
	make_arm(root);
	frame_cache_get_page(cache, other, GVA(ARM_ADDRESS), 0, &page);
	frame_cache_stop(cache);
	check_arm(root, ARM_ADDRESS, WALK_OK, 1, "arm64: a page is found");
	*arm_entry(65, 1) = 0;
	check_arm(root, ARM_ADDRESS + 0x1000, WALK_OK, 2, "arm64: the next page by the same table");
	check_arm(root, ARM_ADDRESS + 0x2000, WALK_NOT_PRESENT, 0,
		  "arm64: a block in the last table is a hole");
	check_arm(root, ARM_ADDRESS + 0x200000, WALK_NOT_PRESENT, 0,
		  "arm64: an address after the table's range");
	check_arm(root, ARM_ADDRESS ^ 1ULL << 60, WALK_NOT_CANONICAL, 0,
		  "arm64: an address of no half");
	check_arm(other, ARM_ADDRESS, WALK_OK, 3, "arm64: another TTBR1 has its own table");
	frame_cache_stop(cache);
	check_arm(root, ARM_ADDRESS, WALK_NOT_PRESENT, 0,
		  "arm64: a table that is gone in the next stop");
	end("pages of arm64");
}

/* With DS, bits 9 and 8 of an entry are part of the address: the table is not remembered. */
static void test_wide_pages_of_arm64(void)
{
	struct memory_root root = arm_root(ARM_TCR | 1ULL << TCR_ARM64_DS_SHIFT, ARM_PAGES);

	begin(64, 0);
	make_arm(arm_root(ARM_TCR, ARM_PAGES));
	for (unsigned i = 0; i < 3; i++)
		*arm_entry(66, i) &= ~0x300ULL;
	*arm_entry(64, 0) = 65 << 12 | 3;
	*arm_entry(65, 1) = 66 << 12 | 3;
	frame_cache_stop(cache);
	check_arm(root, ARM_ADDRESS, WALK_OK, 1, "arm64 with DS: a page is found");
	*arm_entry(66, 1) |= 0x300;
	check_arm(root, ARM_ADDRESS + 0x1000, WALK_NOT_MAPPED, 0,
		  "arm64 with DS: a page above 2^50");
	end("wide pages of arm64");
}

int main(void)
{
	test_pages_by_address();
	test_tables_of_two_regions();
	test_path_of_an_earlier_stop();
	test_path_of_nothing();
	test_frame_by_address();
	test_pages_of_arm64();
	test_wide_pages_of_arm64();
	return tap_done();
}
