/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a file with DWARF has its symbols, for places that are counted from one. Symbols are added
 * in any order, and then sorted. The process that reads lines.
 */
#ifndef XTOP_ELF_ELF_LINE_SYMBOLS_H
#define XTOP_ELF_ELF_LINE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_line_symbol {
	const char *name; /* points into the mapping, or belongs to libdwfl */
	uint64_t address, size_bytes;
	uint32_t section;
	bool is_last; /* the symbol is the last one of its section */
};

/* Zeros: no symbol. */
struct elf_line_symbols {
	struct elf_line_symbol *list; /* sorted: by name */
	size_t n, capacity;
};

/* Does nothing when there are too many, and without memory. */
void elf_line_symbols_add(struct elf_line_symbols *symbols, const struct elf_line_symbol *symbol);
/* Before elf_line_symbols_sort(): sets is_last of all symbols. */
void elf_line_symbols_mark_last(struct elf_line_symbols *symbols);
void elf_line_symbols_sort(struct elf_line_symbols *symbols);
/*
 * The address of symbol NAME. False: there is none with about SIZE_BYTES (0: of any size), as in a
 * file of another build, or there are several with different addresses.
 */
bool elf_line_symbols_find(const struct elf_line_symbols *symbols, const char *name,
			   uint64_t size_bytes, uint64_t *address);
void elf_line_symbols_deinit(struct elf_line_symbols *symbols);

#endif
