/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files (System V gABI, chapters 4 and 5). Two readers open a struct elf_file. The functions
 * below, and all of src/symbol/, work on both in the same way:
 *
 *   elf_guest.c   a file in the guest's memory. The bytes are hostile, and some may be
 *                 missing now. Our own code, bounded at every step.
 *   elf_host.c    a file on the disk of dom0 (-k, --root, --debug-dir), through libelf.
 *
 * One thread at a time for each file.
 */
#ifndef XTOP_ELF_H
#define XTOP_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/build_id.h"
#include "xtop/base/bytes.h"
#include "xtop/base/error.h"
#include "xtop/elf/loads.h"

#define ELF_MAX_SECTIONS    (1U << 17) /* libelf takes some 400 bytes for each: 50 MiB */
#define ELF_MAX_SEGMENTS    128        /* Linux refuses more than 64 KiB of them: 1,170 */
/* bytes of notes that are read of a file; Linux's .notes has 500 */
#define ELF_MAX_NOTES_BYTES (1U << 20)
#define ELF_MAX_NAMES_BYTES (1U << 20) /* bytes of the sections' names */
#define ELF_MAX_NAME_BYTES  4096       /* bytes of a symbol's name; a longer one is cut */

/* Limits for reading one file. For a guest's file they bound the memory that the file costs. */
struct elf_limits {
	size_t symbols;       /* symbols in all tables of a type; the gABI has one such table */
	size_t names_bytes;   /* bytes of the symbols' string tables */
	size_t sections;
	size_t frames_bytes;  /* bytes of one unwind section */
	/* bytes of an inflated section; 0: compressed sections are left out */
	size_t inflated_bytes;
	size_t unpacked_bytes; /* bytes of .gnu_debugdata when unpacked; 0: never unpack */
	bool lenient;         /* a file with damaged section headers counts as one without */
	bool partial;         /* the sections that symbols lie in may be left out */
	bool relocatable;     /* object files, as kernel modules, are read, too */
	bool short_kernels;   /* executables of x86-64 code in files of class 32 are read, too */
	bool late_names;      /* symbols have a place of their name, and no name; see name_at */
};

/* A copy of a part of the file. Bytes that could not be read are zeros, and are in `gaps`. */
struct elf_blob {
	const uint8_t *bytes;
	size_t size_bytes;
	struct bytes_gap *gaps; /* ascending */
	size_t n_gaps, gaps_capacity;
	/* bytes that the blob owns; NULL: the bytes are libelf's until elf_file_deinit() */
	void *owned;
};

struct elf_section {
	Elf64_Shdr header;
	uint64_t start, end; /* bounds in memory; equal if the section is not loaded */
	bool code;
};

struct elf_file {
	const char *path; /* name of the file in messages; belongs to the caller */
	struct elf_limits limits;
	struct work *work; /* reading ends when this work is over; NULL, as at first: never */
	Elf64_Ehdr header;
	Elf64_Phdr segments[ELF_MAX_SEGMENTS];
	size_t n_segments;
	struct elf_section *sections; /* the first one, which the gABI reserves, is never loaded */
	size_t n_sections;            /* 0: there are none, or they cannot be read now */
	struct elf_blob names;        /* the names of the sections */
	bool incomplete;              /* some of what was wanted could not be read */

	/* the rest is the readers' */
	const struct elf_reader *reader;
	uint64_t size_bytes;
	const struct bytes *bytes; /* elf_guest.c's */
	struct Elf *host;          /* libelf's handle; elf_host.c only */
	int fd;                    /* the caller's descriptor; elf_host.c only */
	bool inflated;             /* libelf was asked to inflate a section; elf_host.c only */
};

/*
 * Opens a file of the guest. Error: the file is no executable or shared object for the guest's
 * machine, and no other kind that LIMITS allow. BYTES must outlive FILE.
 */
struct xtop_error *elf_file_init_guest(struct elf_file *file, const struct bytes *bytes,
				       const char *path, const struct elf_limits *limits);
/* Opens FD, a regular file, which must stay open as long as FILE is used. */
struct xtop_error *elf_file_init_host(struct elf_file *file, int fd, const char *path,
				      const struct elf_limits *limits);
void elf_file_deinit(struct elf_file *file); /* an error may have come before */

/* Whether the file's code has words of 32 bits. */
bool elf_machine_is_short(const struct elf_file *file);
bool elf_machine_is_x86_64(const struct elf_file *file);
bool elf_machine_is_arm(const struct elf_file *file); /* Arm of 64 or 32 bits */
struct xtop_error *elf_damaged(const struct elf_file *file, const char *what);
/* Whether the N bytes that a file begins with are those of an ELF file of any kind. */
bool elf_has_magic(const void *bytes, size_t n);

/* --- parts of a file -------------------------------------------------------------------------- */

/*
 * Loads SIZE_BYTES of the file from OFFSET on. Returns false if they lie beyond the file's end, if
 * memory is out, or if a host's file cannot be read. Missing bytes set file->incomplete.
 */
bool elf_load(struct elf_file *file, uint64_t offset, uint64_t size_bytes, struct elf_blob *blob);
/* Loads all of section INDEX. The caller has checked how large the section is. */
bool elf_load_section(struct elf_file *file, size_t index, struct elf_blob *blob);
/*
 * elf_load() for section INDEX, which is compressed by zlib; ZDEBUG: in the older way. Also false
 * if the section would be larger than limits.inflated_bytes, if a section was tried before, and for
 * every file of the guest.
 */
bool elf_inflate_section(struct elf_file *file, size_t index, bool zdebug, struct elf_blob *blob);
void elf_blob_deinit(struct elf_blob *blob);
/* Whether SIZE_BYTES at OFFSET lie in the blob, and not in a gap. */
bool elf_blob_has(const struct elf_blob *blob, size_t offset, size_t size_bytes);
/* Copies a few bytes of the file. Returns how many could be read, from the front. */
size_t elf_read(struct elf_file *file, uint64_t offset, void *buffer, size_t size_bytes);

/* Name of SECTION; "" if the name cannot be read. Lives as long as FILE. */
const char *elf_section_name(const struct elf_file *file, const struct elf_section *section);
/* The number of the first section NAME. 0: there is none, or names cannot be read. */
size_t elf_find_section(const struct elf_file *file, const char *name);

/* --- elf_segments.c --------------------------------------------------------------------------- */

/*
 * Finds the offset of the byte that the file loads at ADDRESS, and how many bytes are loaded from
 * there on.
 */
bool elf_find_offset(const struct elf_file *file, uint64_t address, uint64_t *offset,
		     uint64_t *left_bytes);
/* Copies SIZE_BYTES that the file loads at ADDRESS. False: not all are loaded and can be read. */
bool elf_read_at(struct elf_file *file, uint64_t address, void *buffer, size_t size_bytes);
/* Copies those of SIZE_BYTES that the file loads from ADDRESS on. Returns how many were read. */
size_t elf_read_front(struct elf_file *file, uint64_t address, void *buffer, size_t size_bytes);
/*
 * Sets *ADDRESS to the virtual address at which the physical address PHYSICAL is loaded. False:
 * nothing is loaded there.
 */
bool elf_find_physical(const struct elf_file *file, uint64_t physical, uint64_t *address);
/* Gets the segments that the file loads. False: nothing is loaded. */
bool elf_get_loads(const struct elf_file *file, struct loads *loads);

/* --- elf_dynamic.c ---------------------------------------------------------------------------- */

/*
 * The functions that the dynamic linker calls first and last; 0: none is known. In a static file
 * *FINI is where .fini begins. *INIT stays 0 there: other code without tables may follow .init.
 */
void elf_find_init(struct elf_file *file, uint64_t *init, uint64_t *fini);
/*
 * Looks up N symbols of .dynsym by DT_GNU_HASH, as the dynamic linker does, which reads a few words
 * of the file for each. A name has less than ELF_EXPORT_NAME_BYTES. An address that is not found
 * becomes 0.
 */
#define ELF_EXPORT_NAME_BYTES 96
void elf_find_exports(struct elf_file *file, const char *const *names, size_t n,
		      uint64_t *addresses);

/* --- elf_main.c ------------------------------------------------------------------------------- */

/* The address of main(), by the code at the file's entry: x86-64 and arm64. 0: it is not known. */
uint64_t elf_find_main(struct elf_file *file);
/* The address that this code gives to the C library: main(), or a jump to main(). 0: not known. */
uint64_t elf_find_called(struct elf_file *file);

/* --- elf_notes.c ------------------------------------------------------------------------------ */

/* Finds the file's build-id. A *BUILD_ID of size 0 means that the file has none. */
void elf_find_build_id(struct elf_file *file, struct build_id *build_id);
/*
 * The build-id among NOTES. They are aligned to 4 or 8 bytes, and are loaded at ADDRESS; 0: they
 * are not loaded. False: there is none, and *BUILD_ID is untouched.
 */
bool elf_find_build_id_note(const struct elf_blob *notes, size_t alignment, uint64_t address,
			    struct build_id *build_id);
/*
 * Finds the addresses at which the image begins to run: ELF's entry, and the entry in Xen's note
 * for PVH; and the first function that is called. 0: not known.
 */
void elf_find_entries(struct elf_file *file, struct entry_points *entries);
/* The page into which Xen writes a PV guest's hypercalls, by Xen's note. False: there is none. */
bool elf_find_hypercall_page(struct elf_file *file, uint64_t *address);
/* The package that the file names, raw: "systemd", "252.38-1~deb12u1", "deb"; "": nothing. */
#define ELF_PACKAGE_TEXT_BYTES 96
struct elf_package {
	char name[ELF_PACKAGE_TEXT_BYTES];
	char version[ELF_PACKAGE_TEXT_BYTES];
	char type[ELF_PACKAGE_TEXT_BYTES];
};
/* Finds the package that the file comes from. False: the file names none. */
bool elf_find_package(struct elf_file *file, struct elf_package *package);
/* Whether a segment of notes begins with the note by which Go's linker marks its files. */
bool elf_has_go_note(struct elf_file *file);

/* --- elf_debug.c ------------------------------------------------------------------------------ */

/* bytes of the section; the name in it is one component of a path */
#define ELF_DEBUG_LINK_MAX_BYTES 4096

/* .gnu_debuglink: the name of the file with the symbols, and the CRC-32 of all of it. */
struct elf_debug_link {
	char name[256]; /* the file's name, which has no slash */
	uint32_t crc;
};
/*
 * Reads .gnu_debuglink. False: the section is missing or cannot be read now; *LINK is then
 * undefined.
 */
bool elf_find_debug_link(struct elf_file *file, struct elf_debug_link *link);
/* .gnu_debugaltlink: the file that dwz put the common parts of several debug files into. */
struct elf_alt_link {
	char name[512]; /* a path, not clean; "": there is none */
	struct build_id build_id;
};
void elf_find_alt_link(struct elf_file *file, struct elf_alt_link *link);
/* Whether CRC is the CRC-32 of the whole file. False for a file of more than MAX_BYTES. */
bool elf_has_crc(struct elf_file *file, uint32_t crc, uint64_t max_bytes);

/*
 * .gnu_debugdata, unpacked: a small ELF file with the functions that .dynsym lacks (GDB manual,
 * MiniDebugInfo). *BLOB is empty if the section is missing or cannot be read whole now. Error: the
 * section is damaged, or becomes as large as limits.unpacked_bytes.
 */
struct xtop_error *elf_unpack_debugdata(struct elf_file *file, struct elf_blob *blob);

/* --- elf_lines.c: the reader of line_client.h ------------------------------------------------- */

struct line_reader;
extern const struct line_reader elf_lines_reader; /* reads lines by libdw */

/* --- elf_symbols.c ---------------------------------------------------------------------------- */

/* Bytes of a symbol. IS_SHORT: the symbol is one of ELF32. */
static inline size_t elf_symbol_bytes(bool is_short)
{
	return is_short ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
}

struct elf_symbol {
	uint64_t address, size_bytes; /* size_bytes 0: the size is not known */
	const char *name;             /* NULL: the name is not within the string table */
	size_t name_bytes;            /* length of the name, ELF_MAX_NAME_BYTES at most */
	uint32_t name_offset;
	uint32_t name_at;             /* place of the name in the file; only with late_names */
	uint16_t section;             /* SHN_UNDEF: not defined here */
	uint8_t type, binding;        /* STT_FUNC ..., STB_LOCAL ... */
	/* The symbol's home: the section that holds it, or a segment if no sections are known. */
	uint64_t home_end; /* first address after it */
	bool in_code;
};

/*
 * Decodes symbol I of the array SYMBOLS. IS_SHORT: the symbols are those of ELF32. The symbol's
 * home is not set. NAMES may be NULL, with NAMES_BYTES 0.
 */
struct elf_symbol elf_decode_symbol(const void *symbols, bool is_short, size_t i,
				    const char *names, size_t names_bytes);

/* An error ends the iteration. */
typedef struct xtop_error *elf_symbol_fn(void *context, const struct elf_symbol *symbol);
/*
 * Hands every symbol of the tables of TYPE, SHT_SYMTAB or SHT_DYNSYM, to FN, in the order of the
 * file. Symbols outside of their home and those whose name cannot be read now are left out. Error:
 * the file is damaged or beyond a limit, or FN has returned an error.
 */
struct xtop_error *elf_each_symbol(struct elf_file *file, uint32_t type, elf_symbol_fn *fn,
				   void *context);
/* Finds the Elf64_Rela entries of DT_RELA in the file. False: there are none in the file. */
bool elf_find_relocations(struct elf_file *file, uint64_t *offset, uint64_t *size_bytes);
/* A table in the file. */
struct elf_place {
	uint64_t offset, size_bytes;
};
/* Where the file has the relocations of words that stubs read, their symbols and names. */
struct elf_stub_tables {
	struct elf_place stubs;  /* DT_JMPREL */
	struct elf_place others; /* relocations of DT_RELA that have a symbol */
	uint64_t symbols_at; /* .dynsym, whose hash table need not have the file's imports */
	uint64_t strings_at, strings_bytes;
};
bool elf_find_stub_tables(struct elf_file *file, struct elf_stub_tables *tables);
/* Calls FN for the symbols of .dynsym, found by PT_DYNAMIC, in files without section headers. */
struct xtop_error *elf_each_dynamic_symbol(struct elf_file *file, elf_symbol_fn *fn,
					   void *context);

#endif
