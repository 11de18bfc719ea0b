/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwind sections of an ELF file: call-frame information, and a Linux kernel's ORC tables. */
#ifndef XTOP_SYMBOL_ELF_FRAMES_H
#define XTOP_SYMBOL_ELF_FRAMES_H

#include "xtop/elf/elf.h"
#include "xtop/unwind/cfi.h"
#include "xtop/unwind/exidx.h"

/* --- elf_frames.c ----------------------------------------------------------------------------- */

struct elf_frames {
	struct elf_blob eh_frame, eh_frame_hdr, debug_frame;
	struct cfi_sections sections; /* the sections in these blobs */
	struct elf_blob index, table;
	struct exidx_sections exidx; /* the sections in these two blobs; 32-bit Arm */
};

/* FRAMES must not outlive FILE. */
void elf_read_frames(struct elf_file *file, struct elf_frames *frames);
void elf_frames_deinit(struct elf_frames *frames);
/* Whether there is a .debug_frame that is compressed by something else than zlib. */
bool elf_frames_are_foreign(struct elf_file *file);

/* --- elf_orc_x86.c ---------------------------------------------------------------------------- */

/*
 * Reads the ORC tables of a Linux kernel. NULL: the file has none. symtab_add_specials() adds
 * special code to them later.
 */
struct orc *elf_read_orc(struct elf_file *file);

#endif
