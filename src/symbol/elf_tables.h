/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwind tables of an ELF file, copied; see elf_tables.c. */
#ifndef XTOP_SYMBOL_ELF_TABLES_H
#define XTOP_SYMBOL_ELF_TABLES_H

#include "xtop/elf/elf.h"

/*
 * *FDP: an ELF file in memory that has only the unwind tables of FILE. The caller closes it. Error:
 * the file cannot be read, or out of memory.
 */
struct xtop_error *elf_copy_tables(struct elf_file *file, int *fdp);

#endif
