/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files with code that the guest's processes run. Each file is read once, however many
 * processes map it, and again while some of its bytes are missing. Resolver's thread.
 */
#ifndef XTOP_PROCESS_CODE_FILES_H
#define XTOP_PROCESS_CODE_FILES_H

#include "linux/process/code_file_reader.h"
#include "linux/process/memory_budget.h"
#include "xtop/base/error.h"
#include "xtop/base/limit.h"

/* limit; files that no process maps are dropped first */
#define CODE_FILES_MAX LIMIT(1024, 16)
/* Limits for one walk; the last file may exceed them. */
#define CODE_FILES_MAX_WALK_BYTES (32U << 20)     /* bytes of files that are read or unpacked */
#define CODE_FILES_MAX_WALK_PAGES LIMIT(8192, 48) /* pages that are searched in page caches */
#define CODE_FILE_RETRY_NS        1000000000ULL
#define CODE_FILE_MAX_RETRY_NS    (60 * CODE_FILE_RETRY_NS)

struct code_file {
	struct file_identity identity;
	enum code_file_state state;
	struct image *image; /* has at least a name; another image after the file was read again */
	struct loads loads;  /* n is 0 if unknown */
	bool no_path;        /* the name is made up */
	bool lacks_parts;    /* parts could not be read when they were needed */
	uint64_t due_ns;     /* time when the file is worth reading again; UINT64_MAX for never */
	/* The following members belong to code_files.c. */
	uint64_t number;                     /* unique number, which is never used again */
	uint64_t inode;                      /* address of the struct inode; 0 if there is none */
	uint64_t scan_delay_ns, scan_due_ns; /* delay and time of the next scan of the page cache */
	uint64_t retry_delay_ns;
	unsigned n_users;     /* number of opens without a close */
	uint64_t used;        /* code_files.clock when the file was last opened */
	uint64_t got_bytes;   /* bytes read from the guest for the present image */
	size_t charged_bytes; /* memory charged to the budget */
};

struct code_files_settings {
	struct memory_budget *budget; /* borrowed, outlives the files */
	uint64_t walk_bytes;          /* limit for one walk; 0 for CODE_FILES_MAX_WALK_BYTES */
	struct debug_places debug;
	/* symbols of -k, borrowed, outlive the files; NULL if there are none */
	const struct symbols *symbols;
	bool at_once;                  /* code is not read in turns (guest_code.h) */
};

struct code_files_counts {
	unsigned kept;
	/* Numbers of kept files with a property: */
	unsigned incomplete;    /* some bytes are not in the guest's memory now */
	unsigned elf32;         /* programs of x32: neither named nor unwound */
	unsigned too_large;     /* files that need more memory than one file may have */
	unsigned cut;           /* files with too many symbols, or damaged symbols */
	unsigned no_symbols;    /* stripped, and neither -k nor --root has the symbols */
	/* Counters since the start: */
	uint64_t reads, retries;
	uint64_t absent_pages; /* needed pages that the guest never read, or dropped */
	/* needed pages that were dropped under pressure, or swapped out */
	uint64_t evicted_pages;
	uint64_t put_off;  /* files put off to a later walk */
	uint64_t by_frame; /* samples whose code was found by its page frame */
	uint64_t fetched;  /* debug files from debuginfod that gave names */
	uint64_t no_room;  /* files not read because the budget or the table was full */
};

struct code_files;

/* GUEST outlives the files. */
struct xtop_error *code_files_create(const struct linux_guest *guest,
				     const struct code_files_settings *settings,
				     struct code_files **filesp);
void code_files_destroy(struct code_files *files); /* NULL allowed; all files are closed */

/*
 * Starts a walk of one process's areas. A walk reads a bounded number of bytes of files and
 * searches for a bounded number of pages of code, because nothing else is resolved meanwhile. When
 * a limit is reached, code_files_open() returns NULL for new files, and searches no pages, until
 * the next walk.
 */
void code_files_begin_walk(struct code_files *files);
/*
 * Opens the file that SOURCE describes. Reads the file if it is new, or if it is time to try again.
 * NULL if there is no room, if the file was put off, or if memory is out. The pointer is valid
 * until the matching code_file_close().
 */
struct code_file *code_files_open(struct code_files *files, struct guest_file *source,
				  uint64_t now_ns);
void code_file_close(struct code_file *file);
/* Drops the least recently used file that is not open. Returns false if there is none. */
bool code_files_drop_unused(struct code_files *files);

/*
 * Finds the file whose code ran at TIME_NS in FRAME, and the offset of that page in the file. The
 * guest's page cache had the page in FRAME before TIME_NS and has it there now (code_pages.h). NULL
 * if no known file matches; *file_offset is untouched then. Calls memory_refresh(). The pointer is
 * valid until the next call of any function here.
 */
const struct code_file *code_files_find_by_frame(struct code_files *files, frame_t frame,
						 uint64_t time_ns, uint64_t *file_offset);

/*
 * Uses debug files that were fetched meanwhile, and requests the debug files of images in which a
 * function without a symbol was sampled.
 */
void code_files_poll(struct code_files *files, uint64_t now_ns);

/* Number of changes: a file got another image because it was read again, or an image got names. */
uint64_t code_files_changes(const struct code_files *files);
/* Number of times that an image in use got more names. */
uint64_t code_files_names(const struct code_files *files);
struct code_files_counts code_files_counts(const struct code_files *files);

#endif
