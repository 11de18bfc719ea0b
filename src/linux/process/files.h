/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files whose code the guest's processes run: each read once, however many processes map it,
 * and again while some of its bytes were missing. Resolver's thread.
 */
#ifndef XTOP_PROCESS_FILES_H
#define XTOP_PROCESS_FILES_H

#include "linux/kernel/linux.h"
#include "linux/process/file_bytes.h"
#include "xtop/loads.h"
#include "linux/process/room.h"
#include "xtop/error.h"
#include "xtop/image.h"
#include "xtop/limit.h"

#define FILES_MAX           LIMIT(1024, 16) /* kept; those that no process maps any more make room */
#define FILE_MAX_READ_BYTES (64U << 20)  /* for one, at once */
#define FILES_MAX_WALK_BYTES (32U << 20) /* for all that are new to one walk of areas, and one more */
#define FILE_RETRY_NS       1000000000ULL
#define FILE_MAX_RETRY_NS   (60 * FILE_RETRY_NS)
#define FILE_MAX_CODE_PAGES 16384 /* of one, that are looked for in the page cache: 64 MiB */
#define FILES_MAX_WALK_PAGES 8192 /* of those of all in one walk, and of one more */

/* Tells files apart for as long as the guest runs; equal: the same bytes. */
struct file_identity {
	uint64_t super_block, inode_number; /* of a vDSO: 0, its first frame */
	uint64_t size_bytes;
	uint64_t mtime_sec;
	uint32_t mtime_nsec, generation;
};

/* Where a file can be read, once. */
struct file_source {
	struct file_identity identity;
	uint64_t inode;          /* 0: none, as of a vDSO */
	uint64_t file;           /* struct file, for the path; 0: none */
	struct file_bytes bytes; /* the process's root and pieces; the page cache is added */
};

enum code_file_state {
	CODE_FILE_WHOLE,
	CODE_FILE_INCOMPLETE, /* worth reading again */
	/* never will be whole */
	CODE_FILE_NO_ELF,     /* no program of this machine */
	CODE_FILE_ELF32,      /* one of 32 bits */
	CODE_FILE_TOO_LARGE,  /* what is needed of it is beyond FILE_MAX_READ_BYTES */
};

struct code_file {
	struct file_identity identity;
	enum code_file_state state;
	struct image *image; /* has a name at least; another one when it was read again */
	struct loads loads;  /* n is 0: not known */
	bool no_path;        /* its name is made up */
	/* the rest is files.c's */
	uint64_t number; /* of no other file, and of none that was there before */
	uint64_t inode;  /* 0: none */
	uint64_t frames_retry_ns, frames_due_ns; /* its code is looked for in the page cache */
	unsigned n_users;
	uint64_t used;
	uint64_t got_bytes;
	size_t kept_bytes;         /* of the room */
	uint64_t retry_ns, due_ns; /* UINT64_MAX: not again */
};

struct files_settings {
	struct room *room;             /* the caller's */
	uint64_t walk_bytes;           /* 0: FILES_MAX_WALK_BYTES */
	int root_fd;                   /* --root DIR, the caller's; -1: none */
	const struct symbols *symbols; /* of -k, the caller's: for files with the same build-id; NULL: none */
};

struct files_counts {
	unsigned kept;
	/* of these */
	unsigned incomplete;  /* some bytes are not in the guest's memory now */
	unsigned no_elf;      /* no program of this machine */
	unsigned elf32;       /* a 32-bit one: no names, no unwinding */
	unsigned too_large;   /* more is needed of it than is read of one file */
	unsigned cut;         /* more symbols than are kept of one file, or damaged ones */
	unsigned no_symbols;  /* stripped, and no -k or --root file has them */
	/* since the start */
	uint64_t from_root, from_symbols; /* readings that a file of --root or -k was better than */
	uint64_t reads, retries;
	uint64_t bytes;         /* read from the guest */
	uint64_t absent_pages;  /* asked for and never read by the guest, or dropped */
	uint64_t evicted_pages; /* dropped under pressure, or swapped out */
	uint64_t put_off;       /* to a later walk */
	uint64_t by_frame;      /* times code was told by its frame */
	uint64_t no_room;       /* readings that there was no room for: mappings without a file, or its names */
};

struct files;

/* LINUX_GUEST outlives the files. */
struct xtop_error *files_create(const struct linux_guest *linux_guest,
				const struct files_settings *settings, struct files **filesp);
void files_destroy(struct files *files); /* NULL allowed; all were put */

/* Inode and identity of a struct file. */
bool files_identify(const struct linux_guest *linux_guest, uint64_t file,
		    struct file_source *source);
/*
 * Reads it if it is new, or if it is time to try again. NULL: no room. To be given back with
 * files_put(); it stays where it is until then.
 */
struct code_file *files_get(struct files *files, struct file_source *source, uint64_t now_ns);
void files_put(struct files *files, struct code_file *file);
/* Drops the one of those given back that was used first. False: there is none. */
bool files_drop_unused(struct files *files);
/*
 * Of code that ran at TIME_NS in FRAME: the file and the offset of that page, when the guest's page cache
 * had it there before that time and has it there now. NULL: it is no file's that is known. Calls
 * memory_refresh().
 */
const struct code_file *files_by_frame(struct files *files, frame_t frame, uint64_t time_ns,
				       uint64_t *file_offset);
/*
 * A walk of a process's areas begins: what it may read of new files is bounded, as nothing else is
 * resolved meanwhile. files_get() of those beyond is NULL, until the next walk. So
 * is how many pages of code it looks for.
 */
void files_begin_walk(struct files *files);
/* Some file was read again since then: its image is another one. Counts up. */
uint64_t files_changes(const struct files *files);
struct files_counts files_counts(const struct files *files);

#endif
