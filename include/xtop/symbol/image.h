/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xtop's knowledge of code. An image is one file's symbols and unwind tables, at the file's own
 * addresses. A space says which image lies where in one address space. The spaces that map an image
 * share it, and it lives as long as one of them. Resolver's thread.
 *
 *   address in the guest - mapping.bias = address in the image
 */
#ifndef XTOP_IMAGE_H
#define XTOP_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/bytes.h"
#include "xtop/base/error.h"
#include "xtop/elf/loads.h"
#include "xtop/symbol/symbol.h"
#include "xtop/unwind/unwind.h"

/* --- image.c ---------------------------------------------------------------------------------- */

struct code_source;
struct image;
struct image_parts;
struct image_place;
struct runtime; /* xtop/language/language.h */

/*
 * Reads symbols or tables that are not in a file. Each function is called when its part is first
 * needed, once; it leaves IMAGE without them if they cannot be read.
 */
typedef void image_read_fn(void *context, struct image *image);
struct image_late {
	image_read_fn *symbols, *tables; /* NULL: they were read, or there are none */
	void *context;
};

/* The content of .gnu_debuglink: name and checksum of the debug file. */
struct image_debug_link {
	uint32_t crc;
	char name[]; /* one component of a path; not clean */
};

struct image {
	char *name;                /* the frames' module: "[kernel]", "libc.so.6"; not clean */
	struct build_id build_id;
	/* a sealed table; NULL: no symbols, or none that image_symtab() has read */
	struct symtab *symtab;
	struct unwind_tables tables; /* the tables for all addresses; see image_tables() */
	struct image_parts *parts;   /* what is read when it is needed; NULL: all was read */
	struct image_late late;      /* what is in no file, and has not been read yet */
	uint64_t init;             /* a function before the tables' first one; 0: none */
	uint64_t fini;             /* a function after the tables' last one; 0: none */
	uint64_t entry, main;      /* a program's _start() and main(); 0: not known */
	bool incomplete;           /* some of the file was missing: worth reading again later */
	bool stripped;             /* only a debug file has all of its functions */
	bool awaits_names;         /* linux/process/ may still find the debug file */
	bool wants_names;          /* a sample had a function without a symbol */
	bool wants_lines;          /* a sample had a function without source lines */
	size_t unpacked_bytes;     /* size of .gnu_debugdata once unpacked for names; not kept */
	char *path, *package;      /* raw; NULL: not known; "systemd 252.38-1 (deb)" */
	struct image_debug_link *link; /* the link to the debug file; NULL if there is none */
	struct work *work;         /* reading the image ends when this work is over; NULL: never */
	/* file for image_build_tables(); -1: none, or the tables have been built */
	int tables_fd;
	bool cut;                  /* symbols were left out: beyond a limit, or after damage */
	bool lines_by_symbol;      /* places in `lines` are counted from their symbols */
	uint32_t lines;            /* the file with its source lines (line_client.h); 0: none */
	struct image_place *place;
	struct runtime *runtime; /* the language's runtime that the file has; NULL: none */
	unsigned n_references;
};

/* Sets the image's path. Without memory the path stays unset. */
void image_set_path(struct image *image, const char *path);
/* Creates an image. The caller has the only reference. */
struct xtop_error *image_create(const char *name, struct image **imagep);
struct image *image_ref(struct image *image);
void image_unref(struct image *image); /* NULL allowed; the last one destroys the image */
size_t image_memory_bytes(const struct image *image);
/*
 * Finds the bounds of the code around ADDRESS, for unwinders that read code: those of a hypercall's
 * stub, of a symbol, of an FDE, or of a short gap between FDEs or after `init`. Addresses are the
 * image's. False: they are not known.
 */
bool image_find_code(struct image *image, uint64_t address, uint64_t *start, uint64_t *end);

/* The bytes of a file that can be read as long as the image lives. */
struct image_source {
	struct bytes bytes;
	void (*close)(void *context); /* gets the context of BYTES */
};

/* The symbols of IMAGE, which are read now if this was not done before. NULL: there are none. */
const struct symtab *image_symtab(struct image *image);
/* Whether the symbols of IMAGE are still in its file, as far as is known. */
bool image_awaits_symbols(const struct image *image);
/* The unwind tables for ADDRESS, an address of the image. They hold for [*START, *END). */
const struct unwind_tables *image_tables(const struct image *image, uint64_t address,
					 uint64_t *start, uint64_t *end);
/* Whether a part of the file could not be read when it was needed, after the file was opened. */
bool image_lacks_parts(const struct image *image);
/* Whether something of the file that was needed so far could not be read. */
bool image_is_incomplete(const struct image *image);

/*
 * An image never changes once a space has it, but for what it reads when it is needed. When its
 * file is read again, another image takes its place. A caller that wants to know the latest image
 * keeps a reference to the place, which keeps no tables in memory.
 */
struct image_place *image_place_ref(const struct image *image);
void image_place_unref(struct image_place *place); /* NULL allowed */
/* Replaces IMAGE by BY, an image of the same file at the same addresses. */
void image_set_successor(struct image *image, struct image *by);
/*
 * Lends the latest image at *PLACEP; NULL: the image was destroyed. *PLACEP becomes the place of
 * the latest image.
 */
const struct image *image_place_get(struct image_place **placep);

/*
 * image_elf.c: symbols, build-id and unwind tables of an ELF file, as far as they are there:
 * .symtab, or .dynsym and .gnu_debugdata; .eh_frame (found by its section or by
 * PT_GNU_EH_FRAME), .debug_frame. What is missing leaves `incomplete` set. Error: no ELF file for
 * the guest's machine.
 */
struct xtop_error *image_read_elf(struct image *image, const struct bytes *bytes); /* the guest's */
/*
 * Reads only what is small of an ELF file, BYTES, and the rest from SOURCE when it is needed.
 * SOURCE is closed with the image then. Section headers may be missing: a guest needs them only
 * to link and to debug. Returns false, and takes nothing, if the file has to be read whole because
 * of its format.
 */
bool image_open_elf(struct image *image, const struct bytes *bytes,
		    const struct image_source *source);
/*
 * image_read_elf() for a file that has the symbols of a kernel in memory, whose code is SOURCE.
 * SOURCE is closed with the image, and also after an error.
 */
struct xtop_error *image_read_loaded_elf(struct image *image, const struct bytes *bytes,
					 const struct code_source *source);
/*
 * image_read_elf() for FD, a file of dom0's disk below --root. *LOADS stays as it was where nothing
 * is loaded.
 */
struct xtop_error *image_read_host_elf(struct image *image, int fd, struct loads *loads);

/*
 * Adds the names that were stripped off IMAGE from FD, a file of dom0's disk that may be IMAGE's
 * debug file. Returns true if its build-id is IMAGE's, and IMAGE has all functions now. BY_LINK: if
 * one of the two has no build-id, the CRC of IMAGE's link decides. Spaces that have IMAGE must be
 * filled anew, because earlier look-ups in them are out of date. An image in a space sees no other
 * change.
 */
bool image_read_debug_file(struct image *image, int fd, bool by_link);

struct elf_alt_link;
/*
 * Whether FD, a file of dom0's disk, has source lines of IMAGE: it is IMAGE's debug file or IMAGE's
 * own file, and has DWARF. BY_LINK: as for image_read_debug_file(). *ALT becomes the file into
 * which dwz put common parts; its name is "" if there is none.
 */
bool image_has_lines(const struct image *image, int fd, bool by_link, struct elf_alt_link *alt);
/* Whether FD has the build-id ID. */
bool image_is_build(int fd, const struct build_id *id);

/* The unwind tables alone, with ORC, of FD, a file of dom0 that -k names. */
struct xtop_error *image_read_tables(struct image *image, int fd);

/*
 * image_read_tables() at a later time: the first frame that is unwound in IMAGE calls
 * image_build_tables(). The tables of a vmlinux take a good part of a second; meanwhile samples
 * wait in the ring. FD, a regular file, becomes the image's.
 */
void image_adopt_tables_file(struct image *image, int fd);
/* Reads late tables, too. Does nothing when there are no such tables. */
void image_build_tables(struct image *image);
/*
 * *FDP: a file in memory, the caller's, which gives image_adopt_tables_file() the same tables as
 * the file that IMAGE has adopted; -1: it has none, or has built its tables. Error: the adopted
 * file cannot be read, or memory is out.
 */
struct xtop_error *image_copy_tables(const struct image *image, int *fdp);

/* --- space.c ---------------------------------------------------------------------------------- */

enum mapping_kind {
	MAPPING_CODE,      /* code of an image */
	MAPPING_ANONYMOUS, /* executable memory without a file: "[jit]" where no name is known */
};

struct mapping {
	uint64_t start, end;
	uint64_t bias;        /* what relocation has added to the image's addresses */
	uint64_t file_offset; /* place of `start` in the file; names code: "libc.so.6+0x2724a" */
	struct image *image;  /* MAPPING_ANONYMOUS: the names in /tmp/perf-PID.map, or NULL */
	enum mapping_kind kind;
};

#define SPACE_MAX_MAPPINGS 65536

struct space;

struct xtop_error *space_create(struct space **spacep);
void space_destroy(struct space *space); /* NULL allowed; drops its references */
/* Takes a reference to mapping->image. Where mappings overlap, the latest one answers first. */
struct xtop_error *space_add(struct space *space, const struct mapping *mapping);
void space_clear(struct space *space);
/*
 * Makes earlier look-ups in SPACE out of date. Call this function when an image in SPACE has got
 * source lines.
 */
void space_invalidate(struct space *space);
/* Removes the mappings that IS_GONE accepts: many for the cost of one. */
void space_remove_if(struct space *space,
		     bool (*is_gone)(void *context, const struct mapping *mapping), void *context);
/* The mapping that answers for ADDRESS; NULL: none is known. Lives until the space changes. */
const struct mapping *space_find(const struct space *space, uint64_t address);
/*
 * A number that every change of SPACE raises: a caller's cached look-ups hold while (space,
 * generation) is unchanged. A number is never used twice while the program runs, even by another
 * space.
 */
uint64_t space_generation(const struct space *space);
/*
 * The innermost symbol at ADDRESS. False: there is none; then *MAPPING is what space_find()
 * returns, which may be NULL.
 */
bool space_find_symbol(const struct space *space, uint64_t address, struct symtab_entry *entry,
		       const struct mapping **mapping);
/* Whether ADDRESS may be code. False: SPACE has mappings, but none at ADDRESS. */
bool space_may_be_code(const struct space *space, uint64_t address);
/* Whether one of the files in SPACE has Go's table of functions. */
bool space_has_go(const struct space *space);
/* A mapping of the file with a language's runtime in SPACE; NULL: there is none. */
const struct mapping *space_find_runtime(const struct space *space);
/* SPACE for unwind_stack(). NULL for NULL. Lives as long as SPACE. */
const struct unwind_space *space_for_unwind(const struct space *space);

#endif
