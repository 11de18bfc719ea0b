/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of code: an image is one file's symbols and unwind tables, at the file's own
 * addresses; a space says which image lies where in one address space. Images are shared by the
 * spaces that map them and live as long as one does. Resolver's thread.
 *
 *   address in the guest - mapping.bias = address in the image
 */
#ifndef XTOP_IMAGE_H
#define XTOP_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/bytes.h"
#include "xtop/error.h"
#include "xtop/loads.h"
#include "xtop/symbol.h"
#include "xtop/unwind.h"

/* --- image.c ---------------------------------------------------------------------------------- */

struct image_place;

struct image {
	char *name;                /* the frames' module: "[kernel]", "ext4", "libc.so.6"; not clean */
	struct build_id build_id;
	struct symtab *symtab;     /* sealed; NULL: none */
	struct unwind_tables tables;
	bool incomplete;           /* some of its bytes were not there: worth reading again later */
	int tables_fd;             /* what image_need_tables() reads; -1: nothing, or it has been */
	bool cut;                  /* symbols left out: beyond a limit, or behind damage */
	struct image_place *place;
	unsigned n_references;
};

/* One reference, the caller's. */
struct xtop_error *image_create(const char *name, struct image **imagep);
struct image *image_ref(struct image *image);
void image_unref(struct image *image); /* NULL allowed; destroys what it holds with the last */
size_t image_memory_bytes(const struct image *image);

/*
 * An image never changes once a space has it: when its file is read again another one takes its
 * place. Who wants to know of that later keeps a reference to the place, which holds no tables.
 */
struct image_place *image_place_ref(const struct image *image);
void image_place_unref(struct image_place *place); /* NULL allowed */
/* BY, of the same file and its addresses, takes the place of IMAGE; both stay whose they are. */
void image_succeed(struct image *image, struct image *by);
/* What is there now, lent; NULL: nothing any more. *PLACEP becomes the place of the latest. */
const struct image *image_place_now(struct image_place **placep);

/*
 * image_elf.c: symbols, build-id and unwind tables of an ELF file, as far as they are there: .symtab
 * or .dynsym, .eh_frame (found by its section or by PT_GNU_EH_FRAME), .debug_frame. What is missing
 * leaves `incomplete` set. Error: no ELF file for the guest's machine.
 */
struct xtop_error *image_read_elf(struct image *image, const struct bytes *bytes); /* the guest's */
/* The same of FD, a file of dom0's disk below --root. *LOADS stays as it was where nothing is loaded. */
struct xtop_error *image_read_host_elf(struct image *image, int fd, struct loads *loads);

/* The unwind tables alone, with ORC, of FD, a file of dom0 that -k names. */
struct xtop_error *image_read_tables(struct image *image, int fd);

/*
 * The same with the first frame that is unwound in it, by whoever unwinds: a vmlinux takes a good
 * part of a second, which samples can wait for in the ring. Takes FD over, a regular file.
 */
void image_read_tables_later(struct image *image, int fd);
void image_need_tables(struct image *image);

/* --- space.c ---------------------------------------------------------------------------------- */

enum mapping_kind {
	MAPPING_CODE,      /* of an image */
	MAPPING_ANONYMOUS, /* executable memory without a file: "[jit]", but for what its image names */
};

struct mapping {
	uint64_t start, end;
	uint64_t bias;        /* of the image: what relocation added */
	uint64_t file_offset; /* of `start` in the file: names what has no symbol, "libc.so.6+0x2724a" */
	struct image *image;  /* of MAPPING_ANONYMOUS the names in /tmp/perf-PID.map, or NULL */
	enum mapping_kind kind;
};

#define SPACE_MAX_MAPPINGS 65536

struct space;

struct xtop_error *space_create(struct space **spacep);
void space_destroy(struct space *space); /* NULL allowed; drops its references */
/* Takes a reference to mapping->image. What it overlaps: the one added last answers first. */
struct xtop_error *space_add(struct space *space, const struct mapping *mapping);
void space_clear(struct space *space);
/* Takes out what lies in [start, end) whole: a module that went away. */
void space_remove(struct space *space, uint64_t start, uint64_t end);
/* Many at once, for the cost of one. */
void space_remove_if(struct space *space,
		     bool (*is_gone)(void *context, const struct mapping *mapping), void *context);
/* NULL: nothing known there. Lives until the space changes. */
const struct mapping *space_find(const struct space *space, uint64_t address);
/* The same, and the range of addresses that it is the answer for. */
const struct mapping *space_find_range(const struct space *space, uint64_t address, uint64_t *start,
				       uint64_t *end);
/*
 * Raised by every change: what was cached of a space holds while (space, generation) is the same.
 * Never repeats over the life of the program, whatever spaces come and go.
 */
uint64_t space_generation(const struct space *space);
/* Name at ADDRESS: of the innermost symbol there. False: none, *mapping as space_find() (may be NULL). */
bool space_lookup(const struct space *space, uint64_t address, struct symtab_entry *entry,
		  const struct mapping **mapping);
/* False: nothing is mapped there though something is known of the space. */
bool space_may_be_code(const struct space *space, uint64_t address);
/* SPACE as unwind_stack() wants it. NULL for NULL. Lives as long as SPACE. */
const struct unwind_space *space_for_unwind(const struct space *space);

#endif
