/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of a file with DWARF, for places that are given as an offset from a symbol. Symbols
 * are added in any order, and then sorted. Runs in the process that reads lines.
 */
#ifndef XTOP_ELF_ELF_LINE_SYMBOLS_H
#define XTOP_ELF_ELF_LINE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_line_symbol {
	const char *name; /* points into the mapping, or belongs to libdwfl */
	const char *file; /* source file of a static symbol, stored like NAME; NULL: unknown */
	uint64_t address, size_bytes;
	uint32_t section;
	bool is_last; /* the symbol is the last one of its section */
};

/* The symbols; all zeros: none. */
struct elf_line_symbols {
	struct elf_line_symbol *list; /* sorted: by name */
	size_t n, capacity;
};

/* Adds a symbol. Does nothing if there are too many symbols or memory is out. */
void elf_line_symbols_add(struct elf_line_symbols *symbols, const struct elf_line_symbol *symbol);
/* Sets is_last of all symbols. Call this function before elf_line_symbols_sort(). */
void elf_line_symbols_mark_last(struct elf_line_symbols *symbols);
void elf_line_symbols_sort(struct elf_line_symbols *symbols);
/*
 * Finds the address of symbol NAME, "name" or "file.c#name". False: no symbol of that name has
 * about SIZE_BYTES (0: any size), as in a file of another build, or several have different
 * addresses.
 */
bool elf_line_symbols_find(const struct elf_line_symbols *symbols, const char *name,
			   uint64_t size_bytes, uint64_t *address);
void elf_line_symbols_deinit(struct elf_line_symbols *symbols);

#endif
