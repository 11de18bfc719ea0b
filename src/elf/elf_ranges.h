/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which unit, or which function, of a file with DWARF has an address: ranges that may lie within
 * each other, as those of nested functions do. They are added in any order, and then sealed. The
 * process that reads lines.
 */
#ifndef XTOP_ELF_ELF_RANGES_H
#define XTOP_ELF_ELF_RANGES_H

#include <stddef.h>
#include <stdint.h>

#define ELF_RANGES_MAX (4U << 20) /* ranges of units, or of functions in one unit */

struct elf_range {
	uint64_t start, end; /* `end` is the first address after the range */
	uint64_t die;        /* offset in .debug_info */
};

/* The ranges; all zeros: none. */
struct elf_ranges {
	struct elf_range *list; /* sealed: ascending by start */
	uint64_t *ends;         /* ends[i]: the highest end in list[0..i] */
	size_t n, capacity;
};

/* Adds a range. Does nothing for an empty range, beyond ELF_RANGES_MAX, and if memory is out. */
void elf_ranges_add(struct elf_ranges *ranges, uint64_t start, uint64_t end, uint64_t die);
/*
 * Sorts the ranges. Call this function once, after the last elf_ranges_add(). If memory is out, no
 * range is kept.
 */
void elf_ranges_seal(struct elf_ranges *ranges);
/* The innermost range that has ADDRESS. NULL: none has. */
const struct elf_range *elf_ranges_find(const struct elf_ranges *ranges, uint64_t address);
void elf_ranges_deinit(struct elf_ranges *ranges);

#endif
