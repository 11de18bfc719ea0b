/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Go's table of functions (go.h) in an ELF file. */
#ifndef XTOP_SYMBOL_ELF_GO_H
#define XTOP_SYMBOL_ELF_GO_H

#include "xtop/elf/elf.h"
#include "xtop/symbol/symbol.h"
#include "xtop/unwind/go.h"

struct elf_pages;

struct elf_go {
	struct elf_blob blob;    /* the whole table; empty: PAGES has the table */
	struct elf_pages *pages; /* the table's pages, read when needed; NULL: BLOB has them */
	bool incomplete;         /* some of PAGES were needed, and could not be read */
	struct go_table table; /* the table in this blob */
	bool found;
};

/* Whether the file says that it has Go's table; where the table lies is not searched for. */
bool elf_is_go(struct elf_file *file);
/* GO must not outlive FILE. Not an error: the file is not Go's, or its table is not there now. */
void elf_read_go(struct elf_file *file, struct elf_go *go);
/*
 * elf_read_go() for a table of which only what is needed is read, from BYTES, those of FILE. BYTES
 * outlive GO, which may outlive FILE, and does not move.
 */
void elf_open_go(struct elf_file *file, const struct bytes *bytes, struct elf_go *go);
size_t elf_go_memory_bytes(const struct elf_go *go);
void elf_go_deinit(struct elf_go *go);
/* Adds the functions to TAB and raises *N_ADDEDP. Error: a limit of the table, or no memory. */
struct xtop_error *elf_go_add_symbols(const struct elf_go *go, struct symtab *tab,
				      size_t *n_addedp);

/* Where the names of Go's functions are, as symtab_set_late_names() sees it: one byte for each. */
#define ELF_GO_NAMES_AT (UINT32_MAX - (GO_MAX_FUNCTIONS - 1))
/* elf_go_add_symbols() for a table with late names. */
struct xtop_error *elf_go_add_late_symbols(const struct elf_go *go, struct symtab *tab,
					   size_t *n_addedp);
/* Reads the name at AT. Returns how many bytes it has, with the NUL; 0: it is not there now. */
size_t elf_go_read_name(const struct elf_go *go, uint64_t at, char *name, size_t size_bytes);

#endif
