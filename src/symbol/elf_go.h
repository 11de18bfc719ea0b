/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Go's table of functions (go.h) in an ELF file. */
#ifndef XTOP_SYMBOL_ELF_GO_H
#define XTOP_SYMBOL_ELF_GO_H

#include "xtop/elf/elf.h"
#include "xtop/symbol/symbol.h"
#include "xtop/unwind/go.h"

struct elf_go {
	struct elf_blob blob;
	struct go_table table; /* the table in this blob */
	bool found;
};

/* Whether the file says that it has Go's table; where the table lies is not searched for. */
bool elf_is_go(struct elf_file *file);
/* GO must not outlive FILE. Not an error: the file is not Go's, or its table is not there now. */
void elf_read_go(struct elf_file *file, struct elf_go *go);
void elf_go_deinit(struct elf_go *go);
/* Adds the functions to TAB and raises *N_ADDEDP. Error: a limit of the table, or no memory. */
struct xtop_error *elf_go_add_symbols(const struct elf_go *go, struct symtab *tab,
				      size_t *n_addedp);

#endif
