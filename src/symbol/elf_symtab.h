/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of an ELF file, of either reader (xtop/elf.h), for a table of symbols. */
#ifndef XTOP_SYMBOL_ELF_SYMTAB_H
#define XTOP_SYMBOL_ELF_SYMTAB_H

#include "xtop/elf.h"
#include "xtop/symbol.h"

/*
 * Functions of .symtab; of .dynsym, found by its section or by PT_DYNAMIC, when there are none or
 * not all. *N_ADDEDP counts the symbols that were added.
 */
struct xtop_error *elf_read_symbols(struct elf_file *file, struct symtab *tab, size_t *n_addedp);

#endif
