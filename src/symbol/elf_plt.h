/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for the stubs by which an ELF file calls functions of other files (elf_plt.c). */
#ifndef XTOP_SYMBOL_ELF_PLT_H
#define XTOP_SYMBOL_ELF_PLT_H

#include "xtop/elf/elf.h"
#include "xtop/symbol/symbol.h"

/*
 * Adds the stubs of a PLT in FILE to TAB, as X@plt, and their number to *N. Best effort: a stub
 * without a name, or one that cannot be read now, is left out. Error: TAB takes no more.
 */
struct xtop_error *elf_add_plt(struct elf_file *file, struct symtab *tab, size_t *n);

#endif
