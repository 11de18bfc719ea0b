/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page-table walk over tables in memory: all sizes, four and five levels, good and corrupt
 * tables.
 */
#include "config.h"

#include "tests/support/memory_guest.h"
#include "tests/support/tap.h"
#include "xtop/base/registers_x86.h"
#include "xtop/memory/walk.h"

#define KERNEL    0xffffffff81234567ULL
#define USER      0x00007f1234567abcULL
#define LA57_USER 0x00a5f11234567abcULL
#define FRAME_MAX ((1ULL << 40) - 1) /* bits 12..51 of an entry */

static const uint64_t frame_untouched = 0xdead;

/* A missing frame stands for a page-table page that is not mapped yet. */
static const volatile uint64_t *table_of(void *context, frame_t frame)
{
	struct memory_guest *guest = context;

	for (size_t i = 0; i < guest->n_frames; i++)
		if (guest->frames[i].number == frame.value)
			return guest->frames[i].page;
	return NULL;
}

static enum walk_result walk(struct memory_guest *guest, unsigned levels, uint64_t address,
			     uint64_t *frame)
{
	struct walk_reader reader = { .table = table_of, .context = guest };
	struct registers regs = guest->regs[0];
	frame_t found = FRAME(frame_untouched);
	enum walk_result result;

	if (levels == 5)
		regs.cr4 |= CR4_LA57;
	result = walk_find_frame(&reader, walk_root(&regs), GVA(address), &found);
	*frame = found.value;
	return result;
}

static void check_walk(struct memory_guest *guest, unsigned levels, uint64_t address,
		       enum walk_result result, uint64_t frame, const char *what)
{
	uint64_t got_frame;
	enum walk_result got = walk(guest, levels, address, &got_frame);

	check(got == result && got_frame == frame,
	      "%s: %#" PRIx64 " with %u levels gives %d, frame %#" PRIx64 " (expected %d, %#" PRIx64
	      ")",
	      what, address, levels, got, got_frame, result, frame);
}

/* What a walk is expected to answer. */
struct answer {
	enum walk_result result;
	uint64_t frame;
	uint64_t rest_bytes; /* only check_32() looks at it */
};
#define LEAF(result, frame)               ((struct answer){ result, frame, 0 })
#define ANSWER(result, frame, rest_bytes) ((struct answer){ result, frame, rest_bytes })

/* Puts the leaf ENTRY for ADDRESS at LEVEL into a new guest, and checks the walk. */
static void check_leaf(unsigned levels, unsigned level, uint64_t address, uint64_t entry,
		       struct answer want, const char *what)
{
	struct memory_guest *guest = memory_guest_create(1);

	*memory_guest_entry(guest, guest->regs[0].cr3, levels, level, address) = entry;
	check_walk(guest, levels, address, want.result, want.frame, what);
	memory_guest_destroy(guest);
}

/*
 * The entry says where a large page begins, and the address says which 4 KiB page in it is meant:
 *
 *   KERNEL  0xffffffff81234567   in 4 KiB: 0x567   in 2 MiB: page 0x34   in 1 GiB: page 0x1234
 */
static void test_sizes(void)
{
	for (unsigned levels = 4; levels <= 5; levels++) {
		check_leaf(levels, 1, KERNEL, 0x1234567ULL << 12 | PTE_P, LEAF(WALK_OK, 0x1234567),
			   "4 KiB");
		check_leaf(levels, 2, KERNEL, 0x1234600ULL << 12 | PTE_PS | PTE_P,
			   LEAF(WALK_OK, 0x1234634), "2 MiB");
		check_leaf(levels, 3, KERNEL, 0x1240000ULL << 12 | PTE_PS | PTE_P,
			   LEAF(WALK_OK, 0x1241234), "1 GiB");
		check_leaf(levels, 1, USER, 7ULL << 12 | PTE_P, LEAF(WALK_OK, 7), "user");
	}
	check_leaf(5, 1, LA57_USER, 9ULL << 12 | PTE_P, LEAF(WALK_OK, 9), "user, 57 bits");
	check_leaf(4, 1, 0, 9ULL << 12 | PTE_P, LEAF(WALK_OK, 9), "address 0");
	check_leaf(4, 1, UINT64_MAX, 9ULL << 12 | PTE_P, LEAF(WALK_OK, 9), "last address");
}

static void test_bits_that_are_no_address(void)
{
	const uint64_t free_bits = 0x7ffULL << 52 | 0xe00 | 0x7e; /* 52..62, 9..11, and 1..6 */

	check_leaf(4, 1, KERNEL, 5ULL << 12 | PTE_NX | free_bits | PTE_P, LEAF(WALK_OK, 5),
		   "4 KiB, NX and free bits");
	check_leaf(4, 2, KERNEL, 0x600ULL << 12 | PTE_NX | free_bits | PTE_PS | PTE_P,
		   LEAF(WALK_OK, 0x634), "2 MiB, NX and free bits");
	check_leaf(4, 2, KERNEL, 0x600ULL << 12 | PTE_PAT_LARGE | PTE_PS | PTE_P,
		   LEAF(WALK_OK, 0x634), "2 MiB, PAT");
	check_leaf(4, 3, KERNEL, 0x40000ULL << 12 | PTE_PAT_LARGE | PTE_PS | PTE_P,
		   LEAF(WALK_OK, 0x41234), "1 GiB, PAT");
	check_leaf(4, 1, KERNEL, 5ULL << 12 | PTE_PS | PTE_P, LEAF(WALK_OK, 5),
		   "4 KiB, bit 7 is PAT");
	check_leaf(4, 1, KERNEL, FRAME_MAX << 12 | PTE_P, LEAF(WALK_OK, FRAME_MAX),
		   "the highest frame");
	check_leaf(4, 3, KERNEL, FRAME_MAX << 12 | PTE_PS | PTE_P,
		   LEAF(WALK_OK, (FRAME_MAX & ~0x3ffffULL) | 0x1234),
		   "1 GiB with all reserved bits");
}

static void test_flags_on_the_way(void)
{
	struct memory_guest *guest = memory_guest_create(1);

	memory_guest_map(guest, guest->regs[0].cr3, KERNEL, 77);
	for (unsigned level = 2; level <= 4; level++)
		*memory_guest_entry(guest, guest->regs[0].cr3, 4, level, KERNEL) |=
			PTE_NX | 0x7eULL | 0xe00;
	guest->regs[0].cr3 |= 0xfff | 1ULL << 63; /* PCID, and no-flush */
	check_walk(guest, 4, KERNEL, WALK_OK, 77, "flags in tables and CR3");
	memory_guest_destroy(guest);
}

static void test_canonical(void)
{
	static const struct {
		unsigned levels;
		uint64_t address;
		bool canonical;
	} edges[] = {
		{ 4, 0x00007fffffffffff, true },  { 4, 0x0000800000000000, false },
		{ 4, 0xffff7fffffffffff, false }, { 4, 0xffff800000000000, true },
		{ 4, 0x0001000000000000, false }, { 4, 0x8000000000000000, false },
		{ 5, 0x00ffffffffffffff, true },  { 5, 0x0100000000000000, false },
		{ 5, 0xfeffffffffffffff, false }, { 5, 0xff00000000000000, true },
		{ 5, 0x0000800000000000, true },  { 5, 0x7fffffffffffffff, false },
	};
	struct memory_guest *guest = memory_guest_create(1);

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		check_walk(guest, edges[i].levels, edges[i].address,
			   edges[i].canonical ? WALK_NOT_PRESENT : WALK_NOT_CANONICAL,
			   frame_untouched, "canonical edge");
	memory_guest_destroy(guest);
}

/* An entry without the present bit ends the walk, whatever its other bits are. */
static void test_not_present(void)
{
	for (unsigned levels = 4; levels <= 5; levels++)
		for (unsigned level = 1; level <= levels; level++) {
			check_leaf(levels, level, USER, 0, LEAF(WALK_NOT_PRESENT, frame_untouched),
				   "empty entry");
			check_leaf(levels, level, USER, ~PTE_P,
				   LEAF(WALK_NOT_PRESENT, frame_untouched), "swap entry");
		}
}

static void test_large_where_none_can_be(void)
{
	check_leaf(4, 4, USER, 8ULL << 12 | PTE_PS | PTE_P, LEAF(WALK_BAD, frame_untouched),
		   "PS at level 4");
	check_leaf(5, 4, USER, 8ULL << 12 | PTE_PS | PTE_P, LEAF(WALK_BAD, frame_untouched),
		   "PS at level 4 of 5");
	check_leaf(5, 5, USER, 8ULL << 12 | PTE_PS | PTE_P, LEAF(WALK_BAD, frame_untouched),
		   "PS at level 5");
}

static void test_tables_not_mapped(void)
{
	struct memory_guest *guest;

	for (unsigned level = 2; level <= 5; level++)
		check_leaf(5, level, USER, 0x4242ULL << 12 | PTE_P, LEAF(WALK_NOT_MAPPED, 0x4242),
			   "table not mapped");
	check_leaf(4, 2, USER, FRAME_MAX << 12 | PTE_P, LEAF(WALK_NOT_MAPPED, FRAME_MAX),
		   "table above everything");
	guest = memory_guest_create(1);
	guest->regs[0].cr3 = 0x5555ULL << 12 | 0x18;
	check_walk(guest, 4, USER, WALK_NOT_MAPPED, 0x5555, "CR3 not mapped");
	memory_guest_destroy(guest);
}

/* The self-map of an operating system: entry 510 of the top table points to this table. */
static void test_tables_of_themselves(void)
{
	struct memory_guest *guest = memory_guest_create(1);
	uint64_t root = guest->regs[0].cr3 >> 12;
	uint64_t *table = memory_guest_page(guest, root);

	for (unsigned i = 0; i < 512; i++)
		table[i] = root << 12 | PTE_P;
	check_walk(guest, 4, USER, WALK_OK, root, "all entries point to their table");
	check_walk(guest, 5, LA57_USER, WALK_OK, root,
		   "all entries point to their table, with five levels");
	for (unsigned i = 0; i < 512; i++)
		table[i] = i == 510 ? root << 12 | PTE_P : 0;
	check_walk(guest, 4, 0xffffff7fbfdfe000ULL, WALK_OK, root, "self-map, 510 four times");
	check_walk(guest, 4, 0xffffff7fbfdfd000ULL, WALK_NOT_PRESENT, frame_untouched,
		   "self-map, 510 three times, then 509");
	memory_guest_destroy(guest);
}

/* --- 32 bits ---------------------------------------------------------------------------------- */

#define TABLE_FRAME 0x300 /* frames of the tables below, one after the other */
#define ADDRESS     0xc1234567U

static struct memory_root root_32(uint64_t cr3, enum register_width width)
{
	const struct registers regs = { .cr3 = cr3, .cr4 = CR4_PAE, .width = width };

	return walk_root(&regs);
}

/* What the tables say of ADDRESS: the result, the frame, and the bytes up to the end. */
static void check_32(struct memory_guest *guest, struct memory_root root, uint64_t address,
		     struct answer want, const char *what)
{
	struct walk_reader reader = { .table = table_of, .context = guest };
	struct walk_span span;
	enum walk_result got = walk_find_span(&reader, root, GVA(address), &span);

	check(got == want.result && span.frame.value == want.frame &&
		      span.rest_bytes == want.rest_bytes,
	      "%s: %#" PRIx64 " gives %d, frame %#" PRIx64 ", %#" PRIx64
	      " bytes (expected %d, %#" PRIx64 ", %#" PRIx64 ")",
	      what, address, got, span.frame.value, span.rest_bytes, want.result, want.frame,
	      want.rest_bytes);
}

/*
 * 0xc1234567: entry 3 of the top table, 9 of the middle one, 0x34 of the last. The top table is at
 * a multiple of 32 bytes.
 */
static void test_pae(void)
{
	struct memory_guest *guest = memory_guest_create(1);
	uint64_t *top, *middle, *last;
	struct memory_root root;

	top = (uint64_t *)memory_guest_page(guest, TABLE_FRAME) + 0x7e0 / 8;
	middle = memory_guest_page(guest, TABLE_FRAME + 1);
	last = memory_guest_page(guest, TABLE_FRAME + 2);
	root = root_32(TABLE_FRAME << 12 | 0x7e0 | 0x18, WIDTH_32_PAE);
	check_32(guest, root, ADDRESS, ANSWER(WALK_NOT_PRESENT, 0, 0x40000000 - 0x1234567),
		 "PAE, no entry");
	top[3] = 0x999ULL << 12 | PTE_P;
	check_32(guest, root, ADDRESS, ANSWER(WALK_NOT_MAPPED, 0x999, 0x40000000 - 0x1234567),
		 "PAE, a table that cannot be read");
	top[3] = (TABLE_FRAME + 1ULL) << 12 | PTE_P;
	check_32(guest, root, ADDRESS, ANSWER(WALK_NOT_PRESENT, 0, 0x200000 - 0x34567),
		 "PAE, no table");
	middle[9] = 0xfffffff200ULL << 12 | PTE_PS | PTE_P | PTE_NX;
	check_32(guest, root, ADDRESS, ANSWER(WALK_OK, 0xfffffff234, 0x200000 - 0x34567),
		 "PAE, 2 MiB");
	middle[9] = (TABLE_FRAME + 2ULL) << 12 | PTE_P;
	check_32(guest, root, ADDRESS, ANSWER(WALK_NOT_PRESENT, 0, 0x1000 - 0x567), "PAE, no page");
	last[0x34] = 0x1234567ULL << 12 | PTE_PS | PTE_P | PTE_NX;
	check_32(guest, root, ADDRESS, ANSWER(WALK_OK, 0x1234567, 0x1000 - 0x567), "PAE, 4 KiB");
	check_32(guest, root, 0xffffffff, ANSWER(WALK_NOT_PRESENT, 0, 1), "PAE, the last address");
	check_32(guest, root, 1ULL << 32, ANSWER(WALK_NOT_CANONICAL, 0, -(1ULL << 32)),
		 "PAE, above 4 GiB");
	check_u64(walk_index(root, GVA(ADDRESS), 0), 0x7e0 / 8 + 3, "PAE, the top table's word");
	check_u64(walk_index(root, GVA(ADDRESS), 1), 9, "PAE, the middle table's word");
	check_u64(walk_index(root, GVA(ADDRESS), 2), 0x34, "PAE, the last table's word");
	root.cr3 = 0x999 << 12;
	check_32(guest, root, ADDRESS, ANSWER(WALK_NOT_MAPPED, 0x999, (1ULL << 32) - ADDRESS),
		 "PAE, CR3 not mapped");
	root.cr3 = 0x123456ULL << 12;
	check_32(guest, root, ADDRESS, ANSWER(WALK_NOT_MAPPED, 0x123456, (1ULL << 32) - ADDRESS),
		 "PAE, CR3 above 4 GiB, as in a PV guest");
	memcpy(memory_guest_page(guest, 0x123456), (uint8_t *)top - 0x7e0, GUEST_PAGE_SIZE);
	root.cr3 |= 0x7e0;
	check_32(guest, root, ADDRESS, ANSWER(WALK_OK, 0x1234567, 0x1000 - 0x567),
		 "PAE, 4 KiB below a CR3 above 4 GiB");
	memory_guest_destroy(guest);
}

/* 0xc1234567: entry 0x304 of the top table, 0x234 of the other. */
static void test_two_levels(void)
{
	struct memory_guest *guest = memory_guest_create(1);
	struct memory_root root = root_32(TABLE_FRAME << 12 | 0x18, WIDTH_32);
	uint32_t *top, *last;

	top = memory_guest_page(guest, TABLE_FRAME);
	last = memory_guest_page(guest, TABLE_FRAME + 1);
	check_32(guest, root, ADDRESS, ANSWER(WALK_NOT_PRESENT, 0, 0x400000 - 0x234567),
		 "no table");
	top[0x304] = 0x999U << 12 | PTE_P;
	check_32(guest, root, ADDRESS, ANSWER(WALK_NOT_MAPPED, 0x999, 0x400000 - 0x234567),
		 "a table that cannot be read");
	top[0x304] = 0x12400000U | PTE_PS | PTE_P;
	check_32(guest, root, ADDRESS, ANSWER(WALK_OK, 0x12634, 0x400000 - 0x234567), "4 MiB");
	top[0x304] |= 0xabU << 13;
	check_32(guest, root, ADDRESS, ANSWER(WALK_OK, 0xab12634, 0x400000 - 0x234567),
		 "4 MiB, PSE-36");
	top[0x304] = (TABLE_FRAME + 1U) << 12 | PTE_P;
	check_32(guest, root, ADDRESS, ANSWER(WALK_NOT_PRESENT, 0, 0x1000 - 0x567), "no page");
	last[0x234] = 0xfedcbU << 12 | PTE_PS | PTE_P;
	check_32(guest, root, ADDRESS, ANSWER(WALK_OK, 0xfedcb, 0x1000 - 0x567), "4 KiB");
	last[0x235] = 7 << 12 | PTE_P;
	check_32(guest, root, ADDRESS + 0x1000, ANSWER(WALK_OK, 7, 0x1000 - 0x567),
		 "4 KiB, the upper half of a word");
	check_u64(walk_index(root, GVA(ADDRESS), 0), 0x304 / 2, "the top table's word");
	check_u64(walk_index(root, GVA(ADDRESS), 1), 0x234 / 2, "the second table's word");
	check_32(guest, root, 1ULL << 32, ANSWER(WALK_NOT_CANONICAL, 0, -(1ULL << 32)),
		 "above 4 GiB");
	root.cr3 = 0x999 << 12;
	check_32(guest, root, ADDRESS, ANSWER(WALK_NOT_MAPPED, 0x999, (1ULL << 32) - ADDRESS),
		 "CR3 not mapped");
	memory_guest_destroy(guest);
}

/* --- spans ------------------------------------------------------------------------------------ */

static void check_span(struct memory_guest *guest, struct memory_root root, uint64_t address,
		       enum walk_result result, uint64_t rest_bytes, const char *what)
{
	struct walk_reader reader = { .table = table_of, .context = guest };
	struct walk_span span;
	enum walk_result got = walk_find_span(&reader, root, GVA(address), &span);

	check(got == result && span.rest_bytes == rest_bytes,
	      "%s: result %d, %#" PRIx64 " bytes to its end (expected %d, %#" PRIx64 ")", what, got,
	      span.rest_bytes, result, rest_bytes);
}

/* The end of a page or hole depends on the level at which the walk ends. */
static void test_spans(void)
{
	struct memory_guest *guest = memory_guest_create(1);
	struct memory_root root = walk_root(&guest->regs[0]);
	struct memory_root la57 = { .cr3 = root.cr3, .la57 = true };

	*memory_guest_entry(guest, root.cr3, 4, 1, KERNEL) = 5ULL << 12 | PTE_P;
	*memory_guest_entry(guest, root.cr3, 4, 2, KERNEL + (4ULL << 20)) =
		0x600ULL << 12 | PTE_PS | PTE_P;
	*memory_guest_entry(guest, root.cr3, 4, 2, KERNEL + (6ULL << 20)) =
		0xffffffULL << 12 | PTE_P;
	check_span(guest, root, KERNEL, WALK_OK, 0x1000 - 0x567, "4 KiB");
	check_span(guest, root, KERNEL + (4 << 20), WALK_OK, 0x200000 - 0x34567, "2 MiB");
	check_span(guest, root, KERNEL + 0x1000, WALK_NOT_PRESENT, 0x1000 - 0x567, "no page");
	check_span(guest, root, KERNEL + (2 << 20), WALK_NOT_PRESENT, 0x200000 - 0x34567,
		   "no table");
	check_span(guest, root, KERNEL + (6 << 20), WALK_NOT_MAPPED, 0x200000 - 0x34567,
		   "a table that cannot be read");
	check_span(guest, root, 0, WALK_NOT_PRESENT, 1ULL << 39, "no entry at the top");
	check_span(guest, root, 0x0000900000000000, WALK_NOT_CANONICAL,
		   0xffff800000000000 - 0x0000900000000000, "not canonical");
	check_span(guest, la57, 0x0100000000000000, WALK_NOT_CANONICAL,
		   0xff00000000000000 - 0x0100000000000000, "not canonical with five levels");
	memory_guest_destroy(guest);
}

int main(void)
{
	test_spans();
	test_pae();
	test_two_levels();
	test_sizes();
	test_bits_that_are_no_address();
	test_flags_on_the_way();
	test_canonical();
	test_not_present();
	test_large_where_none_can_be();
	test_tables_not_mapped();
	test_tables_of_themselves();
	return tap_done();
}
