/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to memory/: the walk for arm64; walk_arm64.c explains the tables. Most guests have 4 KiB
 * pages, and halves of 39 or 48 bits. Their walk is inlined, as that of x86 is (walk_x86.h),
 * because the walk is also done while the guest is stopped. Any thread; no state.
 */
#ifndef MEMORY_WALK_ARM64_H
#define MEMORY_WALK_ARM64_H

#include "xtop/memory/walk.h"

#define ENTRY_ARM64_VALID     (1ULL << 0)
#define ENTRY_ARM64_TABLE     (1ULL << 1) /* an entry for a table; at level 3, for a page */
#define ENTRY_ARM64_READ_ONLY (1ULL << 7)
#define ENTRY_ARM64_PXN       (1ULL << 53)
#define ENTRY_ARM64_UXN       (1ULL << 54)
#define TABLE_ARM64_PXN       (1ULL << 59)
#define TABLE_ARM64_UXN       (1ULL << 60)
#define TABLE_ARM64_READ_ONLY (1ULL << 62)

#define WALK_ARM64_BITS    9  /* address bits that a table of the usual walk translates */
#define WALK_ARM64_PAGE    12
#define WALK_ARM64_BLOCK   30 /* log2 of the largest block's size, 1 GiB */
#define WALK_ARM64_ADDRESS 0x0000fffffffff000ULL

/* As walk_find_span(), for a ROOT of arm64. TABLE and CONTEXT are those of struct walk_reader. */
enum walk_result walk_arm64(const volatile uint64_t *(*table)(void *context, frame_t frame),
			    void *context, struct memory_root root, uint64_t address,
			    struct walk_span *span);
/* As walk_index(). */
size_t walk_arm64_index(struct memory_root root, uint64_t address, unsigned step);

/*
 * The bits of the half that ADDRESS belongs to, if the usual walk can translate it: the half has 4
 * KiB pages, addresses of 48 bits in entries, and full tables. 0: only walk_arm64() can translate
 * ADDRESS.
 */
static inline unsigned walk_arm64_usual_bits(const struct root_arm64 *root, uint64_t address)
{
	bool is_upper = address >> 63;
	unsigned bits = 64 - (unsigned)(is_upper ? root->size1 : root->size0);

	if ((is_upper ? root->granule1 != 2 : root->granule0 != 0) || root->ds || root->is_wide ||
	    (is_upper ? root->off1 : root->off0) || (bits != 48 && bits != 39) ||
	    (uint64_t)((int64_t)address >> bits) != -(uint64_t)is_upper)
		return 0;
	return bits;
}

/*
 * Does only the last step of a walk. ENTRIES is the table of 4 KiB pages for ADDRESS, without DS.
 */
static inline enum walk_result walk_arm64_last(const volatile uint64_t *entries,
					       uint64_t address, frame_t *frame)
{
	uint64_t entry = entries[address >> WALK_ARM64_PAGE & ((1 << WALK_ARM64_BITS) - 1)];

	if (!(entry & ENTRY_ARM64_VALID) || !(entry & ENTRY_ARM64_TABLE))
		return WALK_NOT_PRESENT;
	*frame = FRAME((entry & WALK_ARM64_ADDRESS) >> GUEST_PAGE_SHIFT);
	return WALK_OK;
}

/* What may be done with a page under the leaf ENTRY. TABLES: all entries above it, together. */
static inline void walk_arm64_set_rights(uint64_t entry, uint64_t tables, bool is_upper,
					 struct walk_span *span)
{
	span->writable = !(entry & ENTRY_ARM64_READ_ONLY) && !(tables & TABLE_ARM64_READ_ONLY);
	span->executable = is_upper ? !(entry & ENTRY_ARM64_PXN) && !(tables & TABLE_ARM64_PXN)
				    : !(entry & ENTRY_ARM64_UXN) && !(tables & TABLE_ARM64_UXN);
}

/* As walk_arm64(), of an ADDRESS with walk_arm64_usual_bits() BITS. */
static inline __attribute__((always_inline)) enum walk_result
walk_arm64_usual(const volatile uint64_t *(*table)(void *context, frame_t frame), void *context,
		 const struct root_arm64 *root, unsigned bits, uint64_t address,
		 struct walk_span *span)
{
	bool is_upper = address >> 63;
	uint64_t entry = is_upper ? root->table1 : root->table0, tables = 0, inside;
	unsigned shift = bits - WALK_ARM64_BITS;

	for (;; shift -= WALK_ARM64_BITS) {
		frame_t frame = FRAME((entry & WALK_ARM64_ADDRESS) >> GUEST_PAGE_SHIFT);
		const volatile uint64_t *entries = table(context, frame);

		if (!entries) {
			inside = (1ULL << (shift + WALK_ARM64_BITS)) - 1;
			span->frame = frame;
			span->rest_bytes = inside + 1 - (address & inside);
			return WALK_NOT_MAPPED;
		}
		entry = entries[address >> shift & ((1 << WALK_ARM64_BITS) - 1)];
		if (!(entry & ENTRY_ARM64_VALID) || !(entry & ENTRY_ARM64_TABLE) ||
		    shift == WALK_ARM64_PAGE)
			break;
		tables |= entry;
	}
	inside = (1ULL << shift) - 1;
	span->rest_bytes = inside + 1 - (address & inside);
	if (!(entry & ENTRY_ARM64_VALID) ||
	    (shift == WALK_ARM64_PAGE && !(entry & ENTRY_ARM64_TABLE)))
		return WALK_NOT_PRESENT;
	if (shift > WALK_ARM64_BLOCK)
		return WALK_BAD;
	span->frame = FRAME(((entry & WALK_ARM64_ADDRESS & ~inside) | (address & inside)) >>
			    GUEST_PAGE_SHIFT);
	span->shift = shift;
	walk_arm64_set_rights(entry, tables, is_upper, span);
	return WALK_OK;
}

#endif
