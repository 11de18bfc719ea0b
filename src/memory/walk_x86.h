/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to memory/: the walk itself. It is inlined together with the function that reads page
 * tables, so a caller that needs only the frame does not pay for the rest. While the guest is
 * stopped (frame_cache.c) every instruction counts.
 *
 *   level  entry bits of the address   a leaf when PS (bit 7) is set
 *     5    48..56  (CR4.LA57)          never
 *     4    39..47                      never
 *     3    30..38                      1 GiB
 *     2    21..29                      2 MiB
 *     1    12..20                      always, 4 KiB
 *
 *   entry  63 62..52 51..........12 11..8 7  6..2 1         0
 *          NX  free  frame number   free PS       writable  present
 *
 * A page is writable if the entries of all levels are, and executable if none of them has NX set.
 * The tables of a guest that is not in 64-bit mode are in walk_x86.c.
 *
 * In PV guests CR3 and entries hold machine frames, in all others guest frames; the walk is the
 * same.
 */
#ifndef MEMORY_WALK_X86_H
#define MEMORY_WALK_X86_H

#include "memory/walk_arm64.h"
#include "xtop/memory/walk.h"
#include "xtop/xen/guest.h"

#define WALK_ENTRY_BITS 9
#define PTE_PRESENT  (1ULL << 0)
#define PTE_WRITABLE (1ULL << 1)
#define PTE_LARGE    (1ULL << 7)
#define PTE_FRAME    0x000ffffffffff000ULL
#define PTE_NX       (1ULL << 63)

/*
 * The low WALK_ENTRY_BITS of an address shifted right by this: the index into a table of level
 * 1..5.
 */
#define SHIFT_PAGE 12
#define SHIFT_2MIB 21
#define SHIFT_1GIB 30
#define SHIFT_TOP  39
#define SHIFT_LA57 48

/* The bits above the translated ones repeat the highest translated bit (SDM vol. 1 §3.3.7.1). */
static inline bool walk_is_canonical(uint64_t address, unsigned top)
{
	unsigned unused = 64 - (top + WALK_ENTRY_BITS);

	return (uint64_t)((int64_t)(address << unused) >> unused) == address;
}

/*
 * The frame of ADDRESS under the leaf ENTRY. In a large page the low bits come from ADDRESS, and
 * bit 12 of the entry is PAT, not part of the frame number.
 */
static inline uint64_t walk_leaf_frame(uint64_t entry, unsigned shift, uint64_t address)
{
	uint64_t inside = (1ULL << shift) - 1;

	return ((entry & PTE_FRAME & ~inside) | (address & inside)) >> GUEST_PAGE_SHIFT;
}

/* The bytes from ADDRESS to the end of its aligned block of 2^SHIFT bytes. */
static inline uint64_t walk_rest(uint64_t address, unsigned shift)
{
	return (1ULL << shift) - (address & ((1ULL << shift) - 1));
}

/* The index of the entry for ADDRESS in a table of 64-bit mode. */
static inline size_t walk_index_64(uint64_t address, unsigned shift)
{
	return address >> shift & ((1 << WALK_ENTRY_BITS) - 1);
}

/* The last step alone. ENTRIES is the table of level 1 for ADDRESS, which is canonical. */
static inline enum walk_result walk_last(const volatile uint64_t *entries, uint64_t address,
					 frame_t *frame)
{
	uint64_t entry = entries[walk_index_64(address, SHIFT_PAGE)];

	if (!(entry & PTE_PRESENT))
		return WALK_NOT_PRESENT;
	*frame = FRAME((entry & PTE_FRAME) >> GUEST_PAGE_SHIFT);
	return WALK_OK;
}

/*
 * As walk() below, for a ROOT of another width than WIDTH_64 that has no inlined walk: walk_32(),
 * walk_arm64() or walk_arm32(). Not inline: such guests are seldom.
 */
enum walk_result walk_other(const volatile uint64_t *(*table)(void *context, frame_t frame),
			    void *context, struct memory_root root, uint64_t address,
			    struct walk_span *span);
enum walk_result walk_32(const volatile uint64_t *(*table)(void *context, frame_t frame),
			 void *context, struct memory_root root, uint64_t address,
			 struct walk_span *span);

/* As walk_index(). */
size_t walk_x86_index(struct memory_root root, uint64_t address, unsigned step);

/* walk() of a ROOT that is not of x86 in 64-bit mode. */
static inline __attribute__((always_inline)) enum walk_result
walk_not_64(const volatile uint64_t *(*table)(void *context, frame_t frame), void *context,
	    struct memory_root root, uint64_t address, struct walk_span *span)
{
	unsigned bits = 0;

	if (root.width == ROOT_ARM64)
		bits = walk_arm64_usual_bits(&root.arm64, address);
	return bits ? walk_arm64_usual(table, context, &root.arm64, bits, address, span)
		    : walk_other(table, context, root, address, span);
}

/* As walk_find_span(), of any ROOT. TABLE and CONTEXT are those of struct walk_reader. */
static inline __attribute__((always_inline)) enum walk_result
walk(const volatile uint64_t *(*table)(void *context, frame_t frame), void *context,
     struct memory_root root, uint64_t address, struct walk_span *span)
{
	uint64_t entry = root.cr3, all = ~0ULL, any = 0;
	unsigned shift;

	if (root.width != WIDTH_64)
		return walk_not_64(table, context, root, address, span);
	shift = root.la57 ? SHIFT_LA57 : SHIFT_TOP;
	if (!walk_is_canonical(address, shift)) {
		/* The hole between the two halves ends where the upper half begins. */
		span->rest_bytes = -(1ULL << (shift + WALK_ENTRY_BITS - 1)) - address;
		return WALK_NOT_CANONICAL;
	}
	for (;; shift -= WALK_ENTRY_BITS) {
		frame_t frame = FRAME((entry & PTE_FRAME) >> GUEST_PAGE_SHIFT);
		const volatile uint64_t *entries = table(context, frame);

		if (!entries) {
			span->frame = frame;
			span->rest_bytes = walk_rest(address, shift + WALK_ENTRY_BITS);
			return WALK_NOT_MAPPED;
		}
		entry = entries[walk_index_64(address, shift)];
		all &= entry;
		any |= entry;
		if (!(entry & PTE_PRESENT) || shift == SHIFT_PAGE || entry & PTE_LARGE)
			break;
	}
	span->rest_bytes = walk_rest(address, shift);
	if (!(entry & PTE_PRESENT))
		return WALK_NOT_PRESENT;
	if (shift > SHIFT_1GIB) /* a large page above level 3: the processor would fault */
		return WALK_BAD;
	span->frame = FRAME(walk_leaf_frame(entry, shift, address));
	span->shift = shift;
	span->writable = all & PTE_WRITABLE;
	span->executable = !(any & PTE_NX);
	return WALK_OK;
}

#endif
