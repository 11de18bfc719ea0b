/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads one file of the guest into an image with names and unwind tables. Resolver's thread. */
#ifndef XTOP_PROCESS_CODE_FILE_READER_H
#define XTOP_PROCESS_CODE_FILE_READER_H

#include "linux/process/debug_files.h"
#include "linux/process/guest_code.h"
#include "linux/process/guest_file.h"
#include "linux/process/path.h"
#include "xtop/elf/loads.h"
#include "xtop/symbol/image.h"

/* limit for one reading of one file; bytes that are searched in vain count as well */
#define CODE_FILE_MAX_READ_BYTES (64U << 20)

enum code_file_state {
	CODE_FILE_WHOLE,
	CODE_FILE_INCOMPLETE, /* bytes were missing: worth another reading */
	/* Files in the following states never become whole. */
	CODE_FILE_NO_ELF,    /* not a program of this machine */
	CODE_FILE_ELF32,     /* a program of x32 */
	CODE_FILE_TOO_LARGE, /* CODE_FILE_MAX_READ_BYTES are too few */
};

struct code_file_reader {
	const struct linux_guest *guest; /* outlives the reader */
	/* symbols of -k, outlive the reader; NULL if there are none */
	const struct symbols *symbols;
	struct debug_places debug;
	struct guest_code_turns *turns; /* borrowed, outlives the images */
	/* Counters since the start: needed pages that the page caches did not have. */
	uint64_t absent_pages;  /* the guest never read them, or dropped them without a trace */
	uint64_t evicted_pages; /* dropped under pressure, or swapped out */
	struct path_name path;  /* path of the file that is read */
	uint64_t late_bytes;    /* bytes of files that were read when they were needed */
};

/* Results of one reading of a file. */
struct code_file_reading {
	/* the caller's reference; has at least a name. NULL if memory is out */
	struct image *image;
	struct loads loads; /* n is 0 if unknown */
	enum code_file_state state;
	uint64_t got_bytes;      /* bytes read from the guest */
	uint64_t wasted_bytes;   /* bytes that were searched or copied in vain */
	uint64_t unpacked_bytes; /* bytes that were unpacked from compressed sections, for names */
	size_t kept_bytes;   /* memory of the image; 0 for an image of -k, which exists anyway */
	bool no_path;        /* the image's name is an earlier one, or is made up */
	bool exhausted;      /* CODE_FILE_MAX_READ_BYTES were too few */
};

/*
 * Reads FILE once: if its format allows that, only what is needed to read the rest later.
 * LACKS_PARTS: it is known that the guest does not have all of it, so that other sources are asked.
 * BEFORE: the name that an earlier reading found; NULL: there is none. The caller has set FILE's
 * identity, inode, file, root and pieces.
 */
void code_file_read(struct code_file_reader *reader, struct guest_file *file, const char *before,
		    bool lacks_parts, struct code_file_reading *reading);

#endif
