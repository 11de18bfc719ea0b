/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files whose code the guest's processes run. Each file is read once, however many processes
 * map it, and again while some of its bytes are missing. Resolver's thread.
 */
#ifndef XTOP_PROCESS_CODE_FILES_H
#define XTOP_PROCESS_CODE_FILES_H

#include "linux/process/code_file_reader.h"
#include "linux/process/memory_budget.h"
#include "xtop/base/error.h"
#include "xtop/base/limit.h"

#define CODE_FILES_MAX            LIMIT(1024, 16) /* kept; files that no process maps make room */
/* In one walk; the last file may exceed them. */
#define CODE_FILES_MAX_WALK_BYTES (32U << 20) /* read of files, and unpacked */
#define CODE_FILES_MAX_WALK_PAGES LIMIT(8192, 48) /* looked for in page caches */
#define CODE_FILE_RETRY_NS        1000000000ULL
#define CODE_FILE_MAX_RETRY_NS    (60 * CODE_FILE_RETRY_NS)

struct code_file {
	struct file_identity identity;
	enum code_file_state state;
	struct image *image; /* has at least a name; another image after the file was read again */
	struct loads loads;  /* n is 0: not known */
	bool no_path;        /* the name is made up */
	uint64_t due_ns;     /* when the file is worth reading again; UINT64_MAX: never */
	/* The rest belongs to code_files.c. */
	uint64_t number;      /* no other file has or had this number */
	uint64_t inode;       /* address of the struct inode; 0: none */
	uint64_t scan_delay_ns, scan_due_ns; /* when its page cache is scanned again */
	uint64_t retry_delay_ns;
	unsigned n_users;     /* how often it is open */
	uint64_t used;        /* code_files.clock when the file was opened last */
	uint64_t got_bytes;   /* read from the guest in the reading that is kept */
	size_t charged_bytes; /* to the budget */
};

struct code_files_settings {
	struct memory_budget *budget;  /* the caller's, outlives the files */
	uint64_t walk_bytes;           /* 0: CODE_FILES_MAX_WALK_BYTES */
	int root_fd;                   /* of --root DIR, the caller's; -1: none */
	const struct os_folders *debug_folders; /* of --debug-dir, the caller's; NULL: none */
	const struct symbols *symbols; /* of -k, the caller's, outlive the files; NULL: none */
	bool at_once;                  /* code is not read in turns (guest_code.h) */
};

struct code_files_counts {
	unsigned kept;
	/* Some of the files kept: */
	unsigned incomplete;    /* some bytes are not in the guest's memory now */
	unsigned elf32;         /* programs of x32: neither named nor unwound */
	unsigned too_large;     /* more is needed than is read of one file */
	unsigned cut;           /* more symbols than are kept of one file, or damaged symbols */
	unsigned no_symbols;    /* stripped, and neither -k nor --root has the symbols */
	/* Since the start: */
	uint64_t reads, retries;
	uint64_t absent_pages;  /* needed, and never read by the guest, or dropped */
	uint64_t evicted_pages; /* needed, and dropped under pressure, or swapped out */
	uint64_t put_off;       /* files left to a later walk */
	uint64_t by_frame;      /* times a frame told which file's code a sample ran */
	uint64_t fetched;       /* debug files that gave names, from debuginfod */
	uint64_t no_room;       /* files not read as the budget or the table was full */
};

struct code_files;

/* LINUX_GUEST outlives the files. */
struct xtop_error *code_files_create(const struct linux_guest *linux_guest,
				     const struct code_files_settings *settings,
				     struct code_files **filesp);
void code_files_destroy(struct code_files *files); /* NULL allowed; all files were closed */

/*
 * Starts a walk of one process's areas. A walk reads a bounded number of bytes of files and looks
 * for a bounded number of pages of code, as nothing else is resolved meanwhile. Beyond that
 * code_files_open() returns NULL for new files, and does not look for pages, until the next walk.
 */
void code_files_begin_walk(struct code_files *files);
/*
 * The file that SOURCE describes. Reads the file if it is new, or if it is time to try again. NULL:
 * no room, put off, or out of memory. The pointer is valid until the matching code_file_close().
 */
struct code_file *code_files_open(struct code_files *files, struct guest_file *source,
				  uint64_t now_ns);
void code_file_close(struct code_file *file);
/* Drops the least recently used file that nobody has open. False: there is none. */
bool code_files_drop_unused(struct code_files *files);

/*
 * The file whose code ran at TIME_NS in FRAME, and the offset of that page in the file. The guest's
 * page cache had the page there before TIME_NS and has it there now (code_pages.h). NULL: no file
 * that is known; *file_offset is untouched. Calls memory_refresh(). Valid until the next call of
 * any function here.
 */
const struct code_file *code_files_find_by_frame(struct code_files *files, frame_t frame,
						 uint64_t time_ns, uint64_t *file_offset);

/*
 * Takes up the debug files that were fetched meanwhile, and asks for those of files in which a
 * function without a symbol was met.
 */
void code_files_poll(struct code_files *files);

/* Rises each time a file has another image because it was read again, or an image more names. */
uint64_t code_files_changes(const struct code_files *files);
/* Rises when an image that spaces have got more names. */
uint64_t code_files_names(const struct code_files *files);
struct code_files_counts code_files_counts(const struct code_files *files);

#endif
