/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk for arm64: the first stage of the EL1&0 regime, as Linux and unikernels use it.
 * Sections are those of the Arm ARM (DDI 0487J.a); vcpu_arm64.h has the registers' fields.
 *
 * The upper half of all addresses has tables of its own (TTBR1_EL1), and the lower half has others
 * (TTBR0_EL1). Each half has a granule: the size of a page, and of a full table (§D8.2). "Block" is
 * what x86 calls a large page.
 *
 *   granule  bits a table  bits of the address at level   blocks at level     with 52-bit addresses
 *            translates    3       2       1       0
 *    4 KiB    9            12..20  21..29  30..38  39..47  1: 1 GiB  2: 2 MiB  0: 512 GiB, and a
 *                                                                              level -1: 48..51
 *   16 KiB   11            14..24  25..35  36..46  47..    2: 32 MiB           1: 64 GiB
 *   64 KiB   13            16..28  29..41  42..51          2: 512 MiB          1: 4 TiB
 *
 * A half of 2^(64 - TxSZ) addresses begins at the first level that is needed, and the top table may
 * be smaller than a page. It is aligned to its size, and to 64 bytes (TTBR0_EL1, BADDR).
 *
 *   descriptor (§D8.3)   62..61   60        59        54   53   49..12   7      1 0
 *                        APTable  UXNTable  PXNTable  UXN  PXN  address  AP[2]  kind
 *
 *   bits 1 0   x 0  nothing     0 1  block; at level 3 nothing     1 1  table; at level 3 a page
 *
 *   address    4 and 16 KiB, DS clear   bits 47..page
 *              4 and 16 KiB, DS set     bits 49..page, and bits 9..8 are its bits 51..50
 *              64 KiB                   bits 47..16, and with IPS 6 bits 15..12 are its bits 51..48
 *   TTBRx      with IPS 6 and 52-bit tables bits 5..2 are bits 51..48 of the top table's address
 *
 * A page is writable if AP[2] is clear, and bit 1 of APTable (62) of all tables above (§D8.4). A
 * page is executable if code of its own half may run it: PXN counts in the upper half, UXN in the
 * lower one. Addresses with a tag in their top byte are no addresses here. Any thread; no state.
 */
#include "config.h"

#include "memory/walk_arm64.h"

#define ADDRESS_BITS_MAX  52 /* address bits of a half: TxSZ is at least 12 (FEAT_LVA, FEAT_LPA2) */
#define TABLE_ALIGN_BYTES 64
#define PAGE_ENTRY_BITS   9 /* a page of GUEST_PAGE_SIZE has 2^9 entries */

/* Bits LOW..HIGH. */
#define BITS(high, low) ((~0ULL >> (63 - (high))) & (~0ULL << (low)))

/* One half, as its registers describe it. */
struct half {
	uint64_t table;      /* address of the top table */
	unsigned bits;       /* bits of an address that are translated */
	unsigned page_shift; /* 12, 14 or 16 */
	unsigned entry_bits; /* bits that a full table translates */
	unsigned top_shift;  /* the lowest bit that the top table translates */
	unsigned block_shift; /* log2 of the largest block's size */
	bool is_upper;
	bool has_wide_entries; /* addresses of 52 bits in entries */
};

/* log2 of the page size for a GRANULE of TCR; 0: a reserved value. */
static unsigned half_page_shift(unsigned granule, bool is_upper)
{
	static const uint8_t lower[] = { 12, 16, 14, 0 }, upper[] = { 0, 14, 12, 16 };

	return (is_upper ? upper : lower)[granule];
}

/* log2 of the largest block's size; see the table above. */
static unsigned half_block_shift(const struct half *half)
{
	switch (half->page_shift) {
	case 12:
		return half->has_wide_entries ? 39 : 30;
	case 14:
		return half->has_wide_entries ? 36 : 25;
	default:
		return half->has_wide_entries ? 42 : 29;
	}
}

static uint64_t half_table(const struct half *half, uint64_t base, bool is_wide)
{
	uint64_t bytes = 8ULL << (half->bits - half->top_shift);

	if (bytes < TABLE_ALIGN_BYTES)
		bytes = TABLE_ALIGN_BYTES;
	return (base & ~(bytes - 1)) |
	       (is_wide && half->has_wide_entries ? (base & BITS(5, 2)) << (48 - 2) : 0);
}

/* Fills in HALF from ROOT. False: the registers cannot be right. */
static bool half_init(const struct root_arm64 *root, bool is_upper, struct half *half)
{
	unsigned size = is_upper ? root->size1 : root->size0;

	*half = (struct half){ .is_upper = is_upper, .bits = 64 - size };
	half->page_shift = half_page_shift(is_upper ? root->granule1 : root->granule0, is_upper);
	if (!half->page_shift || half->bits > ADDRESS_BITS_MAX || half->bits <= half->page_shift)
		return false;
	half->has_wide_entries = half->page_shift == 16 ? root->is_wide : root->ds;
	half->entry_bits = half->page_shift - 3;
	half->top_shift = half->page_shift + (half->bits - half->page_shift - 1) /
						     half->entry_bits * half->entry_bits;
	half->block_shift = half_block_shift(half);
	half->table = half_table(half, is_upper ? root->table1 : root->table0, root->is_wide);
	return true;
}

/* The address of a table, block or page. Bits below the block's size are still flags. */
static uint64_t half_entry_address(const struct half *half, uint64_t entry)
{
	if (half->page_shift == 16)
		return (entry & BITS(47, 16)) |
		       (half->has_wide_entries ? (entry & BITS(15, 12)) << (48 - 12) : 0);
	if (!half->has_wide_entries)
		return entry & BITS(47, half->page_shift);
	return (entry & BITS(49, half->page_shift)) | (entry & BITS(9, 8)) << (50 - 8);
}

/* Bits of an address that the table translates whose lowest one is SHIFT. */
static unsigned half_index_bits(const struct half *half, unsigned shift)
{
	return shift == half->top_shift ? half->bits - shift : half->entry_bits;
}

static uint64_t half_index(const struct half *half, uint64_t address, unsigned shift)
{
	return address >> shift & ((1ULL << half_index_bits(half, shift)) - 1);
}

/* log2 of the bytes that 4 KiB of a table describe; the table translates from bit SHIFT on. */
static unsigned half_covered_bits(const struct half *half, unsigned shift)
{
	unsigned bits = half_index_bits(half, shift);

	return shift + (bits < PAGE_ENTRY_BITS ? bits : PAGE_ENTRY_BITS);
}

static uint64_t half_rest(uint64_t address, unsigned shift)
{
	return (1ULL << shift) - (address & ((1ULL << shift) - 1));
}

/* Bytes from ADDRESS, which has no half, to the upper half or the end of all addresses. */
static uint64_t half_gap(const struct root_arm64 *root, uint64_t address)
{
	unsigned bits = 64 - root->size1;
	uint64_t upper = bits < 64 ? -(1ULL << bits) : 0;

	return (address < upper ? upper : 0) - address;
}

static bool half_has(const struct half *half, uint64_t address)
{
	uint64_t above = address >> half->bits;

	return above == (half->is_upper ? ~0ULL >> half->bits : 0);
}

/* The kind of an entry for 2^SHIFT bytes. */
static enum walk_result half_leaf(const struct half *half, uint64_t entry, unsigned shift)
{
	bool is_page = shift == half->page_shift;

	if (!(entry & ENTRY_ARM64_VALID) || (is_page && !(entry & ENTRY_ARM64_TABLE)))
		return WALK_NOT_PRESENT;
	return shift > half->block_shift ? WALK_BAD : WALK_OK;
}

/* The ENTRY for 2^SHIFT bytes ends the walk. TABLES: all entries above it, together. */
static enum walk_result half_end(const struct half *half, uint64_t entry, uint64_t tables,
				 unsigned shift, uint64_t address, struct walk_span *span)
{
	enum walk_result result = half_leaf(half, entry, shift);
	uint64_t inside = (1ULL << shift) - 1;

	span->rest_bytes = half_rest(address, shift);
	if (result != WALK_OK)
		return result;
	span->frame = FRAME(((half_entry_address(half, entry) & ~inside) | (address & inside)) >>
			    GUEST_PAGE_SHIFT);
	span->shift = shift;
	walk_arm64_set_rights(entry, tables, half->is_upper, span);
	return WALK_OK;
}

static enum walk_result half_walk(const volatile uint64_t *(*table)(void *context, frame_t frame),
				  void *context, const struct half *half, uint64_t address,
				  struct walk_span *span)
{
	uint64_t at = half->table, tables = 0, entry;
	unsigned shift = half->top_shift;

	for (;; shift -= half->entry_bits) {
		uint64_t place = at + half_index(half, address, shift) * sizeof(entry);
		frame_t frame = FRAME(place >> GUEST_PAGE_SHIFT);
		const volatile uint64_t *entries = table(context, frame);

		if (!entries) {
			span->frame = frame;
			span->rest_bytes = half_rest(address, half_covered_bits(half, shift));
			return WALK_NOT_MAPPED;
		}
		entry = entries[(place & GUEST_PAGE_MASK) / sizeof(entry)];
		if (!(entry & ENTRY_ARM64_VALID) || !(entry & ENTRY_ARM64_TABLE) ||
		    shift == half->page_shift)
			return half_end(half, entry, tables, shift, address, span);
		tables |= entry;
		at = half_entry_address(half, entry);
	}
}

enum walk_result walk_arm64(const volatile uint64_t *(*table)(void *context, frame_t frame),
			    void *context, struct memory_root root, uint64_t address,
			    struct walk_span *span)
{
	bool is_upper = address >> 63;
	struct half half;

	if (!half_init(&root.arm64, is_upper, &half)) {
		span->rest_bytes = half_rest(address, 63);
		return WALK_BAD;
	}
	if (!half_has(&half, address)) {
		span->rest_bytes = half_gap(&root.arm64, address);
		return WALK_NOT_CANONICAL;
	}
	if (is_upper ? root.arm64.off1 : root.arm64.off0) {
		span->rest_bytes = half_rest(address, half.bits);
		return WALK_NOT_PRESENT;
	}
	return half_walk(table, context, &half, address, span);
}

size_t walk_arm64_index(struct memory_root root, uint64_t address, unsigned step)
{
	uint64_t place;
	unsigned shift;
	struct half half;

	if (!half_init(&root.arm64, address >> 63, &half) ||
	    step > (half.top_shift - half.page_shift) / half.entry_bits)
		return 0;
	shift = half.top_shift - step * half.entry_bits;
	place = (step ? 0 : half.table) + half_index(&half, address, shift) * sizeof(uint64_t);
	return (place & GUEST_PAGE_MASK) / sizeof(uint64_t);
}
