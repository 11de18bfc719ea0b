/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk for kernels of 32 bits on arm64 (Arm ARM DDI 0487J.a §G5.4 and §G5.5);
 * vcpu_arm32.h has TTBCR.
 *
 * Short descriptors have 4 bytes, in two levels:
 *
 *   level   bits of the address   bits 1..0 of the entry
 *     1     20..31                1: table   2, 3: section of 1 MiB; with bit 18 set of 16 MiB
 *     2     12..19                1: page of 64 KiB   2, 3: page of 4 KiB
 *
 *                      address                               not writable   not executable
 *   table              31..10
 *   section            31..20                                15             4
 *   of 16 MiB          31..24; bits 23..20 are its bits      15             4
 *                      35..32, and 8..5 are 39..36
 *   page of 64 KiB     31..16                                9              15
 *   page of 4 KiB      31..12                                9              0
 *
 * With TTBCR.N the addresses whose highest N bits are all 0 have the table in TTBR0, of 16 KiB
 * shifted right by N. All others have the one in TTBR1, of 16 KiB.
 *
 * Long descriptors have 8 bytes: those of walk_arm64.c for pages of 4 KiB, with addresses of 40
 * bits. TTBR0 has the lowest 2^(32 - T0SZ) addresses, and TTBR1 the highest 2^(32 - T1SZ). If TxSZ
 * is 0, the half has what the other half leaves. The three levels begin at bits 30, 21 and 12. A
 * half of at most 1 GiB has no first level.
 *
 * "Executable" leaves PXN out: which code runs in which mode is not known. Any thread; no state.
 */
#include "config.h"

#include "memory/walk_arm32.h"
#include "memory/walk_arm64.h"

#define SECTION_SHIFT      20
#define SUPERSECTION_SHIFT 24
#define LARGE_SHIFT        16
#define SMALL_SHIFT        12
#define TABLE_2_BITS       8
#define TABLE_1_BYTES      (16ULL << 10)

#define SHORT_KIND           3
#define SHORT_TABLE          1 /* level 1 */
#define SHORT_LARGE          1 /* level 2 */
#define SHORT_TABLE_ADDRESS  0xfffffc00ULL
#define SECTION_XN           (1U << 4)
#define SECTION_READ_ONLY    (1U << 15)
#define SECTION_SUPER        (1U << 18)
#define LARGE_XN             (1U << 15)
#define SMALL_XN             (1U << 0)
#define PAGE_READ_ONLY       (1U << 9)

#define LONG_TOP_SHIFT   30
#define LONG_ADDRESS     0x000000ffffffffffULL
#define LONG_SMALL_SIZE  2 /* TxSZ from here on: the walk begins at level 2 */

typedef const volatile uint64_t *(*table_reader)(void *context, frame_t frame);

static uint64_t arm32_rest(uint64_t address, unsigned shift)
{
	uint64_t inside = (1ULL << shift) - 1;

	return inside + 1 - (address & inside);
}

static enum walk_result arm32_hole(enum walk_result result, uint64_t rest_bytes,
				   struct walk_span *span)
{
	span->rest_bytes = rest_bytes;
	return result;
}

static enum walk_result arm32_page(uint64_t base, unsigned shift, uint64_t address,
				   struct walk_span *span)
{
	uint64_t inside = (1ULL << shift) - 1;

	span->frame = FRAME(((base & ~inside) | (address & inside)) >> GUEST_PAGE_SHIFT);
	span->shift = shift;
	span->rest_bytes = arm32_rest(address, shift);
	return WALK_OK;
}

/* --- short descriptors ------------------------------------------------------------------------ */

/* Address of the level 1 entry for ADDRESS; 0: walks of that table are off. */
static uint64_t short_top_place(const struct root_arm64 *root, uint64_t address)
{
	bool is_upper = root->size0 && address >> (32 - root->size0);
	uint64_t bytes = TABLE_1_BYTES >> (is_upper ? 0 : root->size0);
	uint64_t table = (is_upper ? root->table1 : root->table0) & (ARM32_END - bytes);

	if (is_upper ? root->off1 : root->off0)
		return 0;
	return table + (address >> SECTION_SHIFT) * sizeof(uint32_t) % bytes;
}

/* Reads the entry at PLACE. False: the table cannot be read; its frame is in SPAN. */
static bool short_read(table_reader table, void *context, uint64_t place, uint32_t *entry,
		       struct walk_span *span)
{
	frame_t frame = FRAME(place >> GUEST_PAGE_SHIFT);
	const volatile uint64_t *words = table(context, frame);

	if (!words) {
		span->frame = frame;
		return false;
	}
	*entry = (uint32_t)(words[(place & GUEST_PAGE_MASK) / sizeof(*words)] >>
			    (place & sizeof(*entry) ? 32 : 0));
	return true;
}

static enum walk_result short_section(uint32_t entry, uint64_t address, struct walk_span *span)
{
	uint64_t base = entry;

	span->writable = !(entry & SECTION_READ_ONLY);
	span->executable = !(entry & SECTION_XN);
	if (!(entry & SECTION_SUPER))
		return arm32_page(base, SECTION_SHIFT, address, span);
	base |= (uint64_t)(entry >> 20 & 15) << 32 | (uint64_t)(entry >> 5 & 15) << 36;
	return arm32_page(base, SUPERSECTION_SHIFT, address, span);
}

static enum walk_result short_page(uint32_t entry, uint64_t address, struct walk_span *span)
{
	bool is_large = (entry & SHORT_KIND) == SHORT_LARGE;

	if (!(entry & SHORT_KIND))
		return arm32_hole(WALK_NOT_PRESENT, arm32_rest(address, SMALL_SHIFT), span);
	span->writable = !(entry & PAGE_READ_ONLY);
	span->executable = !(entry & (is_large ? LARGE_XN : SMALL_XN));
	return arm32_page(entry, is_large ? LARGE_SHIFT : SMALL_SHIFT, address, span);
}

static uint64_t short_second_place(uint32_t entry, uint64_t address)
{
	return (entry & SHORT_TABLE_ADDRESS) +
	       (address >> SMALL_SHIFT & ((1 << TABLE_2_BITS) - 1)) * sizeof(entry);
}

static enum walk_result walk_short(table_reader table, void *context,
				   const struct root_arm64 *root, uint64_t address,
				   struct walk_span *span)
{
	uint64_t place = short_top_place(root, address);
	uint32_t entry;

	if (!place)
		return arm32_hole(WALK_NOT_PRESENT, arm32_rest(address, SECTION_SHIFT), span);
	if (!short_read(table, context, place, &entry, span)) /* 4 KiB of entries describe 1 GiB */
		return arm32_hole(WALK_NOT_MAPPED, arm32_rest(address, LONG_TOP_SHIFT), span);
	if (!(entry & SHORT_KIND))
		return arm32_hole(WALK_NOT_PRESENT, arm32_rest(address, SECTION_SHIFT), span);
	if ((entry & SHORT_KIND) != SHORT_TABLE)
		return short_section(entry, address, span);
	if (!short_read(table, context, short_second_place(entry, address), &entry, span))
		return arm32_hole(WALK_NOT_MAPPED, arm32_rest(address, SECTION_SHIFT), span);
	return short_page(entry, address, span);
}

/* --- long descriptors ------------------------------------------------------------------------- */

struct long_half {
	uint64_t table;
	unsigned shift; /* the lowest bit that the top table translates */
	unsigned bits;  /* address bits that the table translates */
	bool off;
};

/* Finds the half that ADDRESS belongs to. False: ADDRESS belongs to neither half. */
static bool long_half(const struct root_arm64 *root, uint64_t address, struct long_half *half)
{
	uint64_t lower_end = ARM32_END >> root->size0;
	uint64_t upper_start = ARM32_END - (ARM32_END >> root->size1);
	bool is_upper = root->size1 ? address >= upper_start : address >= lower_end;
	unsigned size = is_upper ? root->size1 : root->size0;
	uint64_t bytes;

	if (!is_upper && address >= lower_end)
		return false;
	half->shift = size < LONG_SMALL_SIZE ? LONG_TOP_SHIFT : LONG_TOP_SHIFT - WALK_ARM64_BITS;
	half->bits = 32 - size - half->shift;
	bytes = sizeof(uint64_t) << half->bits;
	half->table = (is_upper ? root->table1 : root->table0) & LONG_ADDRESS & ~(bytes - 1);
	half->off = is_upper ? root->off1 : root->off0;
	return true;
}

static enum walk_result long_end(uint64_t entry, uint64_t tables, unsigned shift, uint64_t address,
				 struct walk_span *span)
{
	bool is_page = shift == WALK_ARM64_PAGE;

	if (!(entry & ENTRY_ARM64_VALID) || (is_page && !(entry & ENTRY_ARM64_TABLE)))
		return arm32_hole(WALK_NOT_PRESENT, arm32_rest(address, shift), span);
	walk_arm64_set_rights(entry, tables, false, span); /* XN is where UXN is */
	return arm32_page(entry & LONG_ADDRESS, shift, address, span);
}

static enum walk_result walk_long(table_reader table, void *context, const struct root_arm64 *root,
				  uint64_t address, struct walk_span *span)
{
	uint64_t at, tables = 0, entry, place;
	struct long_half half;
	unsigned shift, bits;

	if (!long_half(root, address, &half))
		return arm32_hole(WALK_NOT_CANONICAL, arm32_rest(address, SECTION_SHIFT), span);
	if (half.off)
		return arm32_hole(WALK_NOT_PRESENT, arm32_rest(address, SECTION_SHIFT), span);
	at = half.table, bits = half.bits;
	for (shift = half.shift;; shift -= WALK_ARM64_BITS, bits = WALK_ARM64_BITS) {
		const volatile uint64_t *entries;
		frame_t frame;

		place = at + (address >> shift & ((1ULL << bits) - 1)) * sizeof(entry);
		frame = FRAME(place >> GUEST_PAGE_SHIFT);
		entries = table(context, frame);
		if (!entries) {
			span->frame = frame;
			return arm32_hole(WALK_NOT_MAPPED, arm32_rest(address, shift + bits), span);
		}
		entry = entries[(place & GUEST_PAGE_MASK) / sizeof(entry)];
		if (!(entry & ENTRY_ARM64_VALID) || !(entry & ENTRY_ARM64_TABLE) ||
		    shift == WALK_ARM64_PAGE)
			return long_end(entry, tables, shift, address, span);
		tables |= entry;
		at = entry & LONG_ADDRESS & ~(uint64_t)GUEST_PAGE_MASK;
	}
}

/* --- tables of both formats ------------------------------------------------------------------- */

enum walk_result walk_arm32(table_reader table, void *context, struct memory_root root,
			    uint64_t address, struct walk_span *span)
{
	if (address >= ARM32_END)
		return arm32_hole(WALK_NOT_CANONICAL, -address, span);
	return root.arm64.is_long ? walk_long(table, context, &root.arm64, address, span)
				  : walk_short(table, context, &root.arm64, address, span);
}

static uint64_t long_place(const struct root_arm64 *root, uint64_t address, unsigned step)
{
	struct long_half half;
	unsigned shift;

	if (!long_half(root, address, &half) ||
	    step > (half.shift - WALK_ARM64_PAGE) / WALK_ARM64_BITS)
		return 0;
	shift = half.shift - step * WALK_ARM64_BITS;
	return (step ? 0 : half.table) +
	       (address >> shift & ((1ULL << (step ? WALK_ARM64_BITS : half.bits)) - 1)) *
		       sizeof(uint64_t);
}

/* A second table of short descriptors may be in any quarter of its page: see walk_n_places(). */
size_t walk_arm32_index(struct memory_root root, uint64_t address, unsigned step)
{
	uint64_t place;

	if (root.arm64.is_long)
		place = long_place(&root.arm64, address, step);
	else
		place = step ? short_second_place(0, address)
			     : short_top_place(&root.arm64, address);
	return (place & GUEST_PAGE_MASK) / sizeof(uint64_t);
}
