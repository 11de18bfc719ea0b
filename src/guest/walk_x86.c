/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page-table walk of x86-64 (Intel SDM vol. 3A §4.5): guest-virtual address -> 4 KiB frame. Used
 * by the sampler while the guest is stopped and by the resolver (memory.c): a handful of loads, no
 * loop over guest data, no state.
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
 * A page may be written when all levels say so, and executed when none says NX. PV guests' entries
 * and CR3 hold machine frames, all others guest frames; the walk is the same.
 */
#include "config.h"

#include "xtop/guest.h"

#define PTE_PRESENT  (1ULL << 0)
#define PTE_WRITABLE (1ULL << 1)
#define PTE_LARGE    (1ULL << 7)
#define PTE_FRAME    0x000ffffffffff000ULL
#define PTE_NX       (1ULL << 63)
#define CR4_LA57     (1ULL << 12)
#define ENTRIES_BITS 9

struct memory_root walk_root(const struct registers *regs)
{
	return (struct memory_root){ .cr3 = regs->cr3, .la57 = regs->cr4 & CR4_LA57 };
}

static unsigned walk_shift(unsigned level)
{
	return GUEST_PAGE_SHIFT + ENTRIES_BITS * (level - 1);
}

/* Bits above the translated ones repeat the highest of them (SDM vol. 1 §3.3.7.1). */
static bool walk_is_canonical(uint64_t address, unsigned levels)
{
	unsigned unused = 64 - walk_shift(levels + 1);

	return (uint64_t)((int64_t)(address << unused) >> unused) == address;
}

/*
 * The frame of ADDRESS under leaf ENTRY of LEVEL; in a large page the low bits come from the
 * address (and bit 12 of the entry is PAT, not address).
 */
static uint64_t walk_leaf_frame(uint64_t entry, unsigned level, uint64_t address)
{
	uint64_t inside = (1ULL << walk_shift(level)) - 1;

	return ((entry & PTE_FRAME & ~inside) | (address & inside)) >> GUEST_PAGE_SHIFT;
}

/* From ADDRESS to the end of the 2^SHIFT bytes around it. */
static uint64_t walk_rest(uint64_t address, unsigned shift)
{
	return (1ULL << shift) - (address & ((1ULL << shift) - 1));
}

/* Inlined twice: who asks for the frame alone does not pay for the rest. */
static inline __attribute__((always_inline)) enum walk_result walk(const struct walk_reader *reader,
								   struct memory_root root,
								   uint64_t address,
								   struct walk_span *span)
{
	unsigned levels = root.la57 ? 5 : 4;
	uint64_t table = (root.cr3 & PTE_FRAME) >> GUEST_PAGE_SHIFT;
	uint64_t all = ~0ULL, any = 0;

	if (!walk_is_canonical(address, levels)) {
		/* Up to where the upper half begins. */
		span->rest_bytes = -(1ULL << (walk_shift(levels + 1) - 1)) - address;
		return WALK_NOT_CANONICAL;
	}
	for (unsigned level = levels; level > 0; level--) {
		const volatile uint64_t *entries = reader->table(reader->context, FRAME(table));
		uint64_t entry;

		if (!entries) {
			span->frame = FRAME(table);
			span->rest_bytes = walk_rest(address, walk_shift(level + 1));
			return WALK_NOT_MAPPED;
		}
		span->rest_bytes = walk_rest(address, walk_shift(level));
		entry = entries[address >> walk_shift(level) & ((1 << ENTRIES_BITS) - 1)];
		if (!(entry & PTE_PRESENT))
			return WALK_NOT_PRESENT;
		all &= entry;
		any |= entry;
		if (level == 1 || (level <= 3 && entry & PTE_LARGE)) {
			span->frame = FRAME(walk_leaf_frame(entry, level, address));
			span->writable = all & PTE_WRITABLE;
			span->executable = !(any & PTE_NX);
			return WALK_OK;
		}
		if (entry & PTE_LARGE) /* reserved above level 3: the processor would fault */
			return WALK_BAD;
		table = (entry & PTE_FRAME) >> GUEST_PAGE_SHIFT;
	}
	return WALK_BAD; /* not reached: level 1 is a leaf */
}

enum walk_result walk_x86(const struct walk_reader *reader, struct memory_root root, gva_t address,
			  frame_t *frame)
{
	struct walk_span span = { .frame = *frame };
	enum walk_result result = walk(reader, root, address.value, &span);

	*frame = span.frame;
	return result;
}

enum walk_result walk_x86_span(const struct walk_reader *reader, struct memory_root root,
			       gva_t address, struct walk_span *span)
{
	*span = (struct walk_span){ .rest_bytes = 0 };
	return walk(reader, root, address.value, span);
}
