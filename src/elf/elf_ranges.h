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
	uint64_t start, end; /* the first address behind it */
	uint64_t die;        /* offset in .debug_info */
};

/* Zeros: no range. */
struct elf_ranges {
	struct elf_range *list; /* sealed: ascending by start */
	uint64_t *ends;         /* the highest end up to here: where a search may stop */
	size_t n, capacity;
};

/* Does nothing for an empty range, at ELF_RANGES_MAX, and without memory. */
void elf_ranges_add(struct elf_ranges *ranges, uint64_t start, uint64_t end, uint64_t die);
/* Once, behind the last elf_ranges_add(). Without memory there is no range. */
void elf_ranges_seal(struct elf_ranges *ranges);
/* The innermost range that has ADDRESS. NULL: none has. */
const struct elf_range *elf_ranges_find(const struct elf_ranges *ranges, uint64_t address);
void elf_ranges_deinit(struct elf_ranges *ranges);

#endif
