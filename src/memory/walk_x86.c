/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk for x86 outside of 64-bit mode, whose tables walk_x86.h explains. The others (Intel SDM
 * vol. 3A §4.3, §4.4):
 *
 *            with PAE, entries of 64 bits          without, entries of 32 bits
 *   level    bits of the address  a leaf           bits of the address  a leaf
 *     3      30..31               never
 *     2      21..29               2 MiB, if PS     22..31               4 MiB, if PS
 *     1      12..20               4 KiB            12..21               4 KiB
 *
 * With PAE the table of level 3 has four entries, at any multiple of 32 bytes, and its entries have
 * neither a writable bit nor NX. Without PAE an entry of level 2 for 4 MiB has bits 32..39 of the
 * address in its bits 13..20 (PSE-36). Its PS counts always, as if CR4.PSE were set: every
 * system since 1995 sets it. Any thread; no state.
 */
#include "config.h"

#include "memory/walk_x86.h"

#define SHIFT_4MIB     22
#define ENTRY_4_BITS   10 /* bits of the address for a table with entries of 4 bytes */
#define PTE_4_FRAME    0xfffff000ULL
#define PTE_4_PSE36    0x001fe000ULL
#define PSE36_SHIFT    (32 - 13)
#define ADDRESS_32_END (1ULL << 32)

/* Sets SPAN by ENTRY, which ended the walk. ALL, ANY: the AND and the OR of the walk's entries. */
static enum walk_result walk_32_end(uint64_t entry, unsigned shift, uint64_t address, uint64_t all,
				    uint64_t any, struct walk_span *span)
{
	span->rest_bytes = walk_rest(address, shift);
	if (!(entry & PTE_PRESENT))
		return WALK_NOT_PRESENT;
	span->frame = FRAME(walk_leaf_frame(entry, shift, address));
	span->shift = shift;
	span->writable = all & PTE_WRITABLE;
	span->executable = !(any & PTE_NX);
	return WALK_OK;
}

/*
 * The table in FRAME could not be read. The table would have described the block of 2^SHIFT bytes.
 */
static enum walk_result walk_32_missed(frame_t frame, unsigned shift, uint64_t address,
				       struct walk_span *span)
{
	span->frame = frame;
	span->rest_bytes = walk_rest(address, shift);
	return WALK_NOT_MAPPED;
}

static enum walk_result walk_pae(const volatile uint64_t *(*table)(void *context, frame_t frame),
				 void *context, struct memory_root root, uint64_t address,
				 struct walk_span *span)
{
	frame_t frame = FRAME((root.cr3 & CR3_PAE_TABLE) >> GUEST_PAGE_SHIFT);
	const volatile uint64_t *entries = table(context, frame);
	uint64_t entry, all = ~0ULL, any = 0;
	unsigned shift = SHIFT_2MIB;

	if (!entries)
		return walk_32_missed(frame, 32, address, span);
	entry = entries[walk_x86_index(root, address, 0)];
	if (!(entry & PTE_PRESENT))
		return walk_32_end(entry, SHIFT_1GIB, address, all, any, span);
	for (unsigned step = 1;; step++, shift -= WALK_ENTRY_BITS) {
		frame = FRAME((entry & PTE_FRAME) >> GUEST_PAGE_SHIFT);
		entries = table(context, frame);
		if (!entries)
			return walk_32_missed(frame, shift + WALK_ENTRY_BITS, address, span);
		entry = entries[walk_x86_index(root, address, step)];
		all &= entry;
		any |= entry;
		if (!(entry & PTE_PRESENT) || shift == SHIFT_PAGE || entry & PTE_LARGE)
			return walk_32_end(entry, shift, address, all, any, span);
	}
}

/* The entry of 4 bytes with NUMBER. */
static uint64_t walk_entry_4(const volatile uint64_t *entries, uint64_t number)
{
	return (uint32_t)(entries[number / 2] >> number % 2 * 32);
}

static enum walk_result
walk_two_levels(const volatile uint64_t *(*table)(void *context, frame_t frame), void *context,
		struct memory_root root, uint64_t address, struct walk_span *span)
{
	frame_t frame = FRAME((root.cr3 & PTE_4_FRAME) >> GUEST_PAGE_SHIFT);
	const volatile uint64_t *entries = table(context, frame);
	uint64_t entry, all;

	if (!entries)
		return walk_32_missed(frame, 32, address, span);
	all = entry = walk_entry_4(entries, address >> SHIFT_4MIB);
	if (entry & PTE_PRESENT && entry & PTE_LARGE) {
		entry = (entry & ~PTE_4_PSE36) | (entry & PTE_4_PSE36) << PSE36_SHIFT;
		return walk_32_end(entry, SHIFT_4MIB, address, all, 0, span);
	}
	if (!(entry & PTE_PRESENT))
		return walk_32_end(entry, SHIFT_4MIB, address, all, 0, span);
	frame = FRAME((entry & PTE_4_FRAME) >> GUEST_PAGE_SHIFT);
	entries = table(context, frame);
	if (!entries)
		return walk_32_missed(frame, SHIFT_4MIB, address, span);
	entry = walk_entry_4(entries, address >> SHIFT_PAGE & ((1 << ENTRY_4_BITS) - 1));
	return walk_32_end(entry, SHIFT_PAGE, address, all & entry, 0, span);
}

enum walk_result walk_32(const volatile uint64_t *(*table)(void *context, frame_t frame),
			 void *context, struct memory_root root, uint64_t address,
			 struct walk_span *span)
{
	if (address >= ADDRESS_32_END) {
		span->rest_bytes = -address; /* up to the end of all addresses */
		return WALK_NOT_CANONICAL;
	}
	if (root.width == WIDTH_32_PAE)
		return walk_pae(table, context, root, address, span);
	return walk_two_levels(table, context, root, address, span);
}

/* Two tables: bits 22..31, then 12..21; a word has two entries. */
static size_t walk_index_two_levels(uint64_t address, unsigned step)
{
	unsigned shift = step ? SHIFT_PAGE : SHIFT_4MIB;

	return (address >> shift & ((1 << ENTRY_4_BITS) - 1)) / 2;
}

static size_t walk_index_pae(uint64_t cr3, uint64_t address, unsigned step)
{
	unsigned shift = SHIFT_1GIB - step * WALK_ENTRY_BITS;

	if (step == 0)
		return (cr3 & CR3_PAE_TABLE & GUEST_PAGE_MASK) / sizeof(uint64_t) +
		       (address >> shift & 3);
	return address >> shift & ((1 << WALK_ENTRY_BITS) - 1);
}

size_t walk_x86_index(struct memory_root root, uint64_t address, unsigned step)
{
	unsigned top = root.la57 ? SHIFT_LA57 : SHIFT_TOP;

	if (root.width == WIDTH_32_PAE)
		return walk_index_pae(root.cr3, address, step);
	if (root.width != WIDTH_64)
		return walk_index_two_levels(address, step);
	return address >> (top - step * WALK_ENTRY_BITS) & ((1 << WALK_ENTRY_BITS) - 1);
}
