/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What xtop makes of an ELF file: a table of its functions, and the sections that unwind tables are
 * made of. image_elf.c and symbols.c put them together. The file may be of either reader
 * (xtop/elf.h).
 */
#ifndef XTOP_SYMBOL_ELF_TABLES_H
#define XTOP_SYMBOL_ELF_TABLES_H

#include "unwind/cfi.h"
#include "xtop/elf.h"
#include "xtop/symbol.h"

struct orc;

/* --- elf_symtab.c ----------------------------------------------------------------------------- */

/*
 * Functions of .symtab; of .dynsym, found by its section or by PT_DYNAMIC, when there are none or
 * not all. *N_ADDEDP counts the symbols that were added.
 */
struct xtop_error *elf_read_symbols(struct elf_file *file, struct symtab *tab, size_t *n_addedp);

/* --- elf_frames.c ----------------------------------------------------------------------------- */

struct elf_frames {
	struct elf_blob eh_frame, eh_frame_hdr, debug_frame;
	struct cfi_sections sections; /* of these blobs */
};

/* FRAMES must not outlive FILE. */
void elf_read_frames(struct elf_file *file, struct elf_frames *frames);
void elf_frames_deinit(struct elf_frames *frames);
/* Whether there is a .debug_frame that is compressed by something else than zlib. */
bool elf_frames_are_foreign(struct elf_file *file);

/* --- elf_orc_x86.c ---------------------------------------------------------------------------- */

/* NULL: no Linux kernel, or one without ORC. Without what orc_add_specials_of() adds. */
struct orc *elf_read_orc(struct elf_file *file);

#endif
