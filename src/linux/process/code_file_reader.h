/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads one file of the guest: an image with names and unwind tables. Resolver's thread. */
#ifndef XTOP_PROCESS_CODE_FILE_READER_H
#define XTOP_PROCESS_CODE_FILE_READER_H

#include "linux/process/debug_files.h"
#include "linux/process/guest_code.h"
#include "linux/process/guest_file.h"
#include "linux/process/path.h"
#include "xtop/elf/loads.h"
#include "xtop/symbol/image.h"

/* Read of one file in one reading; what is looked for in vain counts, too. */
#define CODE_FILE_MAX_READ_BYTES (64U << 20)

enum code_file_state {
	CODE_FILE_WHOLE,
	CODE_FILE_INCOMPLETE, /* bytes were missing: worth reading again */
	/* The rest never becomes whole. */
	CODE_FILE_NO_ELF,     /* no program of this machine */
	CODE_FILE_ELF32,      /* a program of x32 */
	CODE_FILE_TOO_LARGE,  /* CODE_FILE_MAX_READ_BYTES are not enough for what is needed */
};

struct code_file_reader {
	const struct linux_guest *linux_guest; /* outlives the reader */
	const struct symbols *symbols;         /* of -k, outlive the reader; NULL: none */
	int root_fd;                           /* of --root, the caller's; -1: none */
	struct debug_places debug;
	struct guest_code_turns *turns;        /* the caller's, outlives the images */
	/* Since the start: pages of page caches that were needed and not there. */
	uint64_t absent_pages;  /* the guest never read them, or dropped them without a trace */
	uint64_t evicted_pages; /* dropped under pressure, or swapped out */
	struct path_name path;  /* of the file that is read */
};

/* What one reading of a file yields. */
struct code_file_reading {
	struct image *image; /* the caller's reference; has at least a name. NULL: out of memory */
	struct loads loads;  /* n is 0: not known */
	enum code_file_state state;
	uint64_t got_bytes;  /* read from the guest */
	uint64_t wasted_bytes; /* looked for or copied in vain */
	uint64_t unpacked_bytes; /* out of packed ones, for names */
	size_t kept_bytes;   /* memory that the image takes; 0: -k's image, which is there anyway */
	bool no_path;        /* the image's name is made up */
	bool exhausted;      /* CODE_FILE_MAX_READ_BYTES were not enough */
};

/* Reads FILE once. The caller has set its identity, inode, file, root and pieces. */
void code_file_read(struct code_file_reader *reader, struct guest_file *file,
		    struct code_file_reading *reading);

#endif
