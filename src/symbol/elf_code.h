/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of a file of dom0 as a struct code_source. Resolver's thread. */
#ifndef XTOP_SYMBOL_ELF_CODE_H
#define XTOP_SYMBOL_ELF_CODE_H

#include "xtop/elf/elf.h"
#include "xtop/symbol/image.h"

/*
 * Sets IMAGE's tables up to read code out of FILE, a file of dom0 that is open at FD. IMAGE has its
 * symbols and other tables, which tell where functions are. Without executable segments nothing
 * changes. Error: out of memory.
 */
struct xtop_error *elf_code_attach(struct elf_file *file, int fd, struct image *image);

#endif
