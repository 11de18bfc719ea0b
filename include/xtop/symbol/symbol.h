/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for addresses. A symtab is the compact sorted table of one image. struct symbols holds the
 * images that are known before sampling starts, and their space (image.h). Tables are built once
 * and then read-only: any thread may look a name up. The bytes of symbol files are hostile: every
 * index and length is checked.
 */
#ifndef XTOP_SYMBOL_H
#define XTOP_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xtop/base/build_id.h"
#include "xtop/base/error.h"

#define SYMTAB_MAX_SYMBOLS (4U << 20)  /* added to one table, with bounds and aliases */
#define SYMTAB_MAX_NAME_BYTES 4096     /* a longer name is cut */
/* bytes of names in one table, if no smaller limit is set */
#define SYMTAB_MAX_NAMES_BYTES (1U << 30)
#define SYMBOLS_MAX_IMAGES 4096
/* bytes of a symbol text, or of a file that is read through a pipe */
#define SYMBOL_FILE_MAX_BYTES (1U << 30)
#define DEMANGLE_MAX_BYTES 4096        /* a longer demangled name is cut */

/* --- symtab.c: one image ---------------------------------------------------------------------- */

struct symtab;

struct symtab_entry {
	uint64_t start;
	uint64_t end;     /* first address after it; start < end */
	const char *name; /* raw, as the file has it, NUL-terminated; lives as long as the table */
};

/*
 * Add symbols with symtab_add(). symtab_seal(), once, sorts them, drops duplicates, sets the ends.
 */
struct xtop_error *symtab_create(struct symtab **tabp);
void symtab_destroy(struct symtab *tab); /* NULL allowed */

/*
 * Sets the limit for the bytes of all names of TAB; SYMTAB_MAX_NAMES_BYTES at first. Each symbol's
 * name is copied, also if many symbols share one name. symtab_add() fails at the limit.
 */
void symtab_limit_names(struct symtab *tab, size_t names_bytes);
struct work;
/* When WORK is over, TAB takes no more symbols, and sealing may leave it empty. NULL: never. */
void symtab_set_work(struct symtab *tab, struct work *work);
bool symtab_is_full(const struct symtab *tab); /* symtab_add() failed at that limit */
struct bytes;
/*
 * Lets symbols be added that have name_at instead of a name. A name is read from BYTES, which
 * outlive TAB, when it is first looked up: such a look-up changes TAB. Error: out of memory.
 */
struct xtop_error *symtab_set_late_names(struct symtab *tab, const struct bytes *bytes);
/* Whether late names that were looked up could not be read. */
bool symtab_is_incomplete(const struct symtab *tab);

/* Rank of a name among several symbols at one address (alias.h has the whole rule). */
enum symbol_rank {
	SYMBOL_STUB, /* code that jumps to the function of this name in another file: X@plt */
	SYMBOL_LOCAL,
	SYMBOL_WEAK,
	SYMBOL_GLOBAL,
};
#define SYMBOL_STUB_SUFFIX "@plt" /* after the names of stubs; late names get it when read */

/* A symbol as its source defines it. */
struct symbol_definition {
	uint64_t start;
	/* 0 if unknown: the symbol reaches to the next symbol, at most to `limit`. */
	uint64_t size_bytes;
	uint64_t limit;     /* end of the symbol's section; 0 if the source knows no sections */
	enum symbol_rank rank;
	const char *name; /* need not be terminated; NULL: see symtab_set_late_names() */
	size_t name_bytes;
	uint32_t name_at; /* place of the name in the file; only if NAME is NULL */
};

/*
 * Adds a symbol. No symbol reaches beyond its limit, or covers more than 4 GiB - 1. A symbol that
 * starts at its limit or after it, or has no name, is left out. Error: the limits above, or out of
 * memory.
 */
struct xtop_error *symtab_add(struct symtab *tab, const struct symbol_definition *symbol);
/*
 * Notes that something without a name starts at ADDRESS. A symbol of unknown size ends at ADDRESS
 * at the latest.
 */
struct xtop_error *symtab_add_bound(struct symtab *tab, uint64_t address);
struct xtop_error *symtab_seal(struct symtab *tab);

/*
 * After symtab_seal(). The innermost entry that covers ADDRESS; false: there is none, or its name
 * cannot be read now.
 */
bool symtab_find(const struct symtab *tab, uint64_t address, struct symtab_entry *entry);
size_t symtab_count(const struct symtab *tab);
/* Ascending by start. The name is NULL if it cannot be read now. */
struct symtab_entry symtab_at(const struct symtab *tab, size_t index);
/* Whether ENTRY, which has a name, is a stub of a PLT. */
bool symtab_entry_is_stub(const struct symtab_entry *entry);
/* The addresses from the first symbol's start to the highest end. TAB is not empty. */
void symtab_extent(const struct symtab *tab, uint64_t *start, uint64_t *end);
size_t symtab_memory_bytes(const struct symtab *tab);

/* The name of the page into which Xen writes code, one stub for each hypercall. */
#define SYMBOL_HYPERCALL_PAGE "hypercall_page"

/* --- specials_x86.c: code that ORC tables are silent or wrong about --------------------------- */

struct orc; /* orc.h */

/* Adds to ORC all special code that SYMTAB, of the same image, knows by name. */
void symtab_add_specials(const struct symtab *symtab, struct orc *orc);

/* --- readers: one file for each format -------------------------------------------------------- */

/*
 * elf_symtab.c: functions of .symtab, or of .dynsym where .symtab has none. FD is a regular file
 * and stays the caller's. TAB is not sealed yet. PATH is for messages only. *UNREAD: its
 * .debug_frame is compressed by something else than zlib, and is not read.
 */
struct xtop_error *symbol_read_elf(int fd, const char *path, struct symtab *tab,
				   struct build_id *build_id, bool *unread);
/*
 * nm.c: the text of nm, System.map or /proc/kallsyms ("address type name [module]"), read from FD
 * as a stream. The names of modules' symbols keep the "\t[module]" after them; symbols.c splits
 * them.
 */
struct xtop_error *symbol_read_nm(int fd, const char *path, struct symtab *tab);

/*
 * The meaning of nm's letter for a symbol, in text and in a kernel's own tables. nm.c explains the
 * letters.
 */
enum symbol_kind {
	SYMBOL_NUMBER, /* not an address */
	SYMBOL_BOUND,  /* not a name for code, but the symbol before ends here */
	SYMBOL_CODE,
};
enum symbol_kind symbol_nm_kind(char type, enum symbol_rank *rankp); /* *RANKP is set for code */

/*
 * demangle.c: names of C++, Rust, D and OCaml, without parameters of C++, hashes of Rust and
 * numbers of OCaml. A compiler's suffix stays ("f.cold"). The caller frees the name. NULL: not a
 * mangled name, or out of memory. Any thread with 2 MiB of stack.
 */
char *symbol_demangle(const char *name);
/* symbol_demangle() that leaves nothing out. It tells a function's overloads apart. */
char *symbol_demangle_whole(const char *name);

/* --- symbols.c: everything known -------------------------------------------------------------- */

struct host_files;
struct symbols;
struct image; /* image.h */
struct space;

struct xtop_error *symbols_create(struct symbols **symbolsp);
void symbols_destroy(struct symbols *symbols); /* NULL allowed */
/* Images that are added later point to WORK, which outlives SYMBOLS; see struct image. */
void symbols_set_work(struct symbols *symbols, struct work *work);

/*
 * Adds PATH: an ELF file, or the text of nm, System.map or kallsyms. The content says which. PATH
 * may be a pipe, as in -k <(nm vmlinux). Text with kernel modules in it adds one image for each
 * module. Error: PATH cannot be read, is neither ELF nor symbol text, or has no functions in it.
 */
struct xtop_error *symbols_add_file(struct symbols *symbols, const struct host_files *files,
				    const char *path);
/* Adds TAB, a sealed table, which it takes, also on error. */
struct xtop_error *symbols_add_table(struct symbols *symbols, struct symtab *tab,
				     const char *module, const struct build_id *build_id);

size_t symbols_count(const struct symbols *symbols); /* number of images; SYMBOLS may be NULL: 0 */
struct image *symbols_image(const struct symbols *symbols, size_t index); /* lent */
/* The space with all images at their link addresses. Lives as long as SYMBOLS. */
const struct space *symbols_space(const struct symbols *symbols);
const struct symtab *symbols_table(const struct symbols *symbols, size_t index);
const char *symbols_module(const struct symbols *symbols, size_t index);
const struct build_id *symbols_build_id(const struct symbols *symbols, size_t index);
/* A warning for the user; NULL: there is none. */
const char *symbols_warning(const struct symbols *symbols);

#endif
