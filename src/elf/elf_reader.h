/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to src/elf/: the interface of the two readers of ELF files, which elf_file.c calls, and
 * the functions that both share.
 */
#ifndef XTOP_ELF_READER_H
#define XTOP_ELF_READER_H

#include "xtop/elf/elf.h"

/*
 * The functions of a reader. Callers have checked offsets and sizes against the file's size, and
 * sizes are not 0.
 */
struct elf_reader {
	size_t (*read)(struct elf_file *file, uint64_t offset, void *buffer, size_t size_bytes);
	bool (*load)(struct elf_file *file, uint64_t offset, uint64_t size_bytes,
		     struct elf_blob *blob);
	bool (*load_section)(struct elf_file *file, size_t index, struct elf_blob *blob);
	/* NULL: compressed sections are not read */
	bool (*inflate_section)(struct elf_file *file, size_t index, bool zdebug,
				struct elf_blob *blob);
	void (*close)(struct elf_file *file); /* NULL: nothing to close */
};

/* --- elf_file.c ------------------------------------------------------------------------------- */

enum elf_header_kind {
	ELF_HEADER_GOOD,
	ELF_HEADER_NO_ELF,
	ELF_HEADER_32BIT, /* x32: code of x86-64 with 32-bit addresses */
	ELF_HEADER_32BIT_OTHER,
	ELF_HEADER_OTHER_MACHINE,
	ELF_HEADER_RELOCATABLE, /* .o, .ko */
	ELF_HEADER_OTHER_TYPE,  /* a core, for example */
};
enum elf_header_kind elf_classify_header(const Elf64_Ehdr *header);

/* Reads the header and checks that xtop reads files of this kind. file->reader is set. */
struct xtop_error *elf_read_header(struct elf_file *file);
/* Counts the sections. Error: they are beyond the file's end or the limit. */
struct xtop_error *elf_count_sections(struct elf_file *file, size_t *np);
/* Makes room for N sections. */
struct xtop_error *elf_reserve_sections(struct elf_file *file, size_t n);
void elf_set_section(struct elf_section *section, const Elf64_Shdr *header);
/* Loads the sections' names from section INDEX. Without names no unwind tables are found. */
void elf_load_names(struct elf_file *file, size_t index);

bool elf_is_inside(const struct elf_file *file, uint64_t offset, uint64_t size_bytes);

/* --- elf_class.c ------------------------------------------------------------------------------ */

/* Makes HEADER, the first bytes of a file of either class, a header of 64 bits; e_ident stays. */
void elf_widen_header(Elf64_Ehdr *header);
/* Bytes of the structures in a file with HEADER. */
struct elf_sizes {
	size_t segment, section, symbol, dynamic, address;
};
struct elf_sizes elf_sizes(const Elf64_Ehdr *header);
/* What lies at BYTES in a file with HEADER. */
Elf64_Phdr elf_decode_segment(const Elf64_Ehdr *header, const void *bytes);
Elf64_Shdr elf_decode_section(const Elf64_Ehdr *header, const void *bytes);
Elf64_Sym elf_decode_sym(const Elf64_Ehdr *header, const void *bytes);
Elf64_Sym elf_decode_sym32(const void *bytes); /* a symbol of ELF32 */
Elf64_Dyn elf_decode_dyn(const Elf64_Ehdr *header, const void *bytes);

/* --- elf_segments.c --------------------------------------------------------------------------- */

/*
 * How many program headers are read, at most ELF_MAX_SEGMENTS. 0: none, or their table is not
 * inside the file; libelf refuses such a table, too. With PN_XNUM section 0 would have the number;
 * such a file has no segments here.
 */
size_t elf_count_segments(const struct elf_file *file);
/* Best effort: where program headers are damaged or missing, there are no segments. */
void elf_read_segments(struct elf_file *file);

/* --- elf_dynamic.c ---------------------------------------------------------------------------- */

struct elf_dynamic {
	uint64_t symbols_offset, strings_offset, strings_bytes; /* offsets and size in the file */
	uint64_t n_symbols;
};

/* Finds .dynsym by PT_DYNAMIC, for files without section headers. */
bool elf_find_dynamic(struct elf_file *file, struct elf_dynamic *dynamic);

/* --- elf_xz.c --------------------------------------------------------------------------------- */

/*
 * Continues a CRC-32: BEFORE is the CRC-32 of the bytes before (0: none). Returns the CRC-32
 * including the N bytes.
 */
uint32_t elf_crc32(const uint8_t *bytes, size_t n, uint32_t before);
struct work;

/*
 * Unpacks PACKED, an .xz file. False: PACKED is no .xz file, is not whole, becomes as large as
 * MAX_BYTES, or memory is out.
 */
bool elf_unpack_xz(const struct elf_blob *packed, size_t max_bytes, struct work *work,
		   struct elf_blob *blob);

#endif
