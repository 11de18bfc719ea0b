/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page-table walk of x86-64 (Intel SDM vol. 3A §4.5): guest-virtual address -> 4 KiB frame.
 * Sampler's thread, while the guest is stopped: a handful of loads, no loop over guest data.
 *
 *   level  entry bits of the address   a leaf when PS (bit 7) is set
 *     5    48..56  (CR4.LA57)          never
 *     4    39..47                      never
 *     3    30..38                      1 GiB
 *     2    21..29                      2 MiB
 *     1    12..20                      always, 4 KiB
 *
 *   entry  63 62..52 51..........12 11..8 7  6..1 0
 *          NX  free  frame number   free PS       present
 *
 * PV guests' entries and CR3 hold machine frames, all others guest frames; the walk is the same. A
 * PV guest never runs with five levels: its virtual CR4 does not show LA57.
 */
#include "config.h"

#include "xtop/guest.h"

#define PTE_PRESENT  (1ULL << 0)
#define PTE_LARGE    (1ULL << 7)
#define PTE_FRAME    0x000ffffffffff000ULL
#define CR4_LA57     (1ULL << 12)
#define ENTRIES_BITS 9

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

enum walk_result walk_x86(const struct walk_reader *reader, const struct registers *regs,
			  gva_t address, frame_t *frame)
{
	unsigned levels = regs->cr4 & CR4_LA57 ? 5 : 4;
	uint64_t table = (regs->cr3 & PTE_FRAME) >> GUEST_PAGE_SHIFT;

	if (!walk_is_canonical(address.value, levels))
		return WALK_NOT_CANONICAL;
	for (unsigned level = levels; level > 0; level--) {
		const volatile uint64_t *entries = reader->table(reader->context, FRAME(table));
		uint64_t entry;

		if (!entries) {
			*frame = FRAME(table);
			return WALK_NOT_MAPPED;
		}
		entry = entries[address.value >> walk_shift(level) & ((1 << ENTRIES_BITS) - 1)];
		if (!(entry & PTE_PRESENT))
			return WALK_NOT_PRESENT;
		if (level == 1 || (level <= 3 && entry & PTE_LARGE)) {
			*frame = FRAME(walk_leaf_frame(entry, level, address.value));
			return WALK_OK;
		}
		if (entry & PTE_LARGE) /* reserved above level 3: the processor would fault */
			return WALK_BAD;
		table = (entry & PTE_FRAME) >> GUEST_PAGE_SHIFT;
	}
	return WALK_BAD; /* not reached: level 1 is a leaf */
}
