/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one reader of ELF files, over bytes of which some may not be there: headers and tables
 * (elf_file.c) and symbols (elf_symbols.c). elf.c and image_elf.c put them together with the unwind
 * sections (symbol/elf_frames.h), for files of dom0 and for those of a guest.
 */
#ifndef XTOP_SYMBOL_ELF_FILE_H
#define XTOP_SYMBOL_ELF_FILE_H

#include <elf.h>

#include "xtop/bytes.h"
#include "xtop/symbol.h"

#define ELF_MAX_SECTIONS    (1U << 20)
#define ELF_MAX_SEGMENTS    128        /* Linux refuses more than 64 KiB of them: 1,170 */
#define ELF_MAX_NOTES_BYTES (1U << 20) /* of a section or segment; Linux's .notes has 500 bytes */
#define ELF_MAX_NAMES_BYTES (1U << 20) /* of sections */
#define ELF_MAX_DYNAMIC     1024       /* entries */

/* What is read of one file at most; where the file is a guest's, these bound the memory it costs. */
struct elf_limits {
	size_t symbols;       /* of all tables of a type: the gABI has one */
	size_t names_bytes;   /* of their string tables */
	size_t sections;
	size_t frames_bytes;  /* of one unwind section */
	size_t inflated_bytes; /* of a compressed one; 0: these are left out */
	bool lenient;         /* damaged section headers are as good as none */
};

struct elf_section {
	Elf64_Shdr header;
	uint64_t start, end; /* in memory; empty when it is not there */
	bool code;
};

struct elf_file {
	const struct bytes *bytes;
	const char *path; /* for messages */
	struct elf_limits limits;
	Elf64_Ehdr header;
	Elf64_Phdr segments[ELF_MAX_SEGMENTS];
	size_t n_segments;
	struct elf_section *sections;
	size_t n_sections; /* 0: none, or not there now */
	bool incomplete;   /* some of what was wanted is not there */
};

/* Error: no x86-64 executable or shared object. PATH and BYTES must outlive FILE. */
struct xtop_error *elf_file_init(struct elf_file *file, const struct bytes *bytes, const char *path,
				 const struct elf_limits *limits);
void elf_file_deinit(struct elf_file *file);

/* elf.c: of the open file *FD, which outlives them. */
struct bytes elf_bytes_of(const int *fd, uint64_t size_bytes);

struct xtop_error *elf_damaged(const struct elf_file *file, const char *what);

/* A stretch of the file; what could not be read is zeros, and a gap. */
struct elf_blob {
	uint8_t *bytes;
	size_t size_bytes;
	struct bytes_gap *gaps; /* ascending */
	size_t n_gaps;
};

/* False: it lies beyond the file's end, or memory is out. A gap sets file->incomplete. */
bool elf_load(struct elf_file *file, uint64_t offset, uint64_t size_bytes, struct elf_blob *blob);
void elf_blob_deinit(struct elf_blob *blob);
bool elf_blob_has(const struct elf_blob *blob, size_t offset, size_t size_bytes); /* and no gap */

/* Where the file has what it loads at ADDRESS, and how much from there on. */
bool elf_offset_of(const struct elf_file *file, uint64_t address, uint64_t *offset,
		   uint64_t *left_bytes);
/* "" where names or the name are not there. Lives as long as NAMES. */
bool elf_load_names(struct elf_file *file, struct elf_blob *names);
const char *elf_section_name(const struct elf_blob *names, const struct elf_section *section);

void elf_find_build_id(struct elf_file *file, struct build_id *build_id);

/* --- elf_symbols.c ---------------------------------------------------------------------------- */

/*
 * Functions of .symtab; of .dynsym, found by its section or by PT_DYNAMIC, when there are none or
 * not all. *N_ADDEDP counts what was added.
 */
struct xtop_error *elf_read_symbols(struct elf_file *file, struct symtab *tab, size_t *n_addedp);

/* --- elf_dynamic.c ---------------------------------------------------------------------------- */

struct elf_dynamic {
	uint64_t symbols_offset, strings_offset, strings_bytes; /* in the file */
	uint64_t n_symbols;
};

/* What PT_DYNAMIC says of .dynsym, for files without section headers. */
bool elf_find_dynamic(struct elf_file *file, struct elf_dynamic *dynamic);

/* --- elf_inflate.c ---------------------------------------------------------------------------- */

/*
 * BLOB, a whole section that is compressed, becomes what it was; ZDEBUG: the older way. False: it is
 * damaged, compressed otherwise, or larger than the file's limit; then BLOB is as it was.
 */
bool elf_inflate(const struct elf_file *file, bool zdebug, struct elf_blob *blob);

#endif
