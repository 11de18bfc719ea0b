/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of an ELF file, of either reader (elf.h), for a table of symbols. */
#ifndef XTOP_SYMBOL_ELF_SYMTAB_H
#define XTOP_SYMBOL_ELF_SYMTAB_H

#include "xtop/elf/elf.h"
#include "xtop/symbol/symbol.h"

struct elf_symtab_counts {
	size_t n_added; /* symbols that were added to the table */
	size_t n_stubs; /* stubs of a PLT that were added besides */
	bool stripped;  /* the file has none of the functions that it does not export */
	/* size of .gnu_debugdata once unpacked; 0: it was not there or not needed */
	size_t unpacked_bytes;
};

/*
 * Functions of .symtab; of .dynsym, found by its section or by PT_DYNAMIC, when there are none or
 * not all; of .gnu_debugdata when there are none; and the stubs of a PLT. COUNTS is filled in also
 * after an error.
 */
struct xtop_error *elf_read_symbols(struct elf_file *file, struct symtab *tab,
				    struct elf_symtab_counts *counts);

#endif
