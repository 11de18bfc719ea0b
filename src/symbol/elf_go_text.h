/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the code of a Go program lies, if its table of functions (go.h) does not tell. */
#ifndef XTOP_SYMBOL_ELF_GO_TEXT_H
#define XTOP_SYMBOL_ELF_GO_TEXT_H

#include "xtop/elf/elf.h"
#include "xtop/unwind/go.h"

/*
 * Sets TABLE->text. The table lies at ADDRESS in the image. Returns false if the code's address is
 * not found, or the bytes that tell it are missing now.
 */
bool elf_find_go_text(struct elf_file *file, uint64_t address, struct go_table *table);

#endif
