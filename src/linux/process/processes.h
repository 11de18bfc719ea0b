/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spaces of the guest's processes: which code lies where, for the samples that ran it. A space
 * is made when a sample first asks for the process, and checked when another sample asks. Number
 * and memory are bounded. Resolver's thread.
 *
 *   task (tasks.c) ─► processes_find_space() ─► struct space: images with names and unwind tables
 */
#ifndef XTOP_PROCESS_PROCESSES_H
#define XTOP_PROCESS_PROCESSES_H

#include "linux/kernel/linux_guest.h"
#include "linux/process/code_files.h"
#include "linux/process/process_arch.h"
#include "linux/process/tasks.h"
#include "xtop/base/error.h"
#include "xtop/base/limit.h"
#include "xtop/symbol/image.h"

#define PROCESSES_MAX        LIMIT(1024, 16) /* kept; the least recently used makes room */
#define PROCESSES_FRESH_NS   100000000ULL    /* checked so lately: not again, if it is not young */
#define PROCESSES_WALK_NS    1000000000ULL   /* between walks where changes of areas go unseen */
#define PROCESSES_RETRY_NS   100000000ULL    /* to the first retry of torn areas */
#define PROCESSES_IDLE_NS    60000000000ULL  /* a process not asked for this long is not retried */
#define PROCESSES_POLL_READS 4               /* processes read in one poll */

struct processes;

struct processes_settings {
	int root_fd;                   /* of --root DIR, the caller's; -1: none */
	const struct os_folders *debug_folders; /* of --debug-dir, the caller's; NULL: none */
	const struct symbols *symbols; /* of -k, the caller's, outlive the processes; NULL: none */
	size_t budget_bytes;           /* for everything that is kept; 0: MEMORY_BUDGET_BYTES */
	uint64_t walk_bytes;           /* 0: CODE_FILES_MAX_WALK_BYTES */
	bool at_once;                  /* code is not read in turns */
};

struct processes_counts {
	unsigned kept;
	/* Some of the processes kept: */
	unsigned torn;           /* areas changed while they were read, or were not there */
	unsigned jit, named_jit; /* with compiled code; with names for it */
	/* Since the start: */
	uint64_t walks, retries;
	uint64_t unreadable;     /* mm_structs that are not there, or are none */
	uint64_t evicted;
	uint64_t made_room;      /* some of those evicted: as the budget was full */
	uint64_t left_out;       /* areas beyond PROCESS_MAX_AREAS, or without budget */
	uint64_t no_room;        /* times names of compiled code were not read for want of budget */
	/* Now: */
	size_t room_bytes;       /* charged to the budget */
	struct code_files_counts files;
};

/* LINUX_GUEST has a layout, and outlives the processes. Error: out of memory. */
struct xtop_error *processes_create(const struct linux_guest *linux_guest,
				    const struct processes_settings *settings,
				    struct processes **processesp);
void processes_destroy(struct processes *processes); /* NULL allowed */

/*
 * The space of TASK's process. NULL: a kernel thread, or the process cannot be read. Valid until
 * processes_find_space() or processes_poll() is called again. Calls memory_refresh() if the process
 * has changed.
 */
const struct space *processes_find_space(struct processes *processes, const struct task *task,
					 uint64_t now_ns);
/*
 * The page tables of the process with the mm_struct at MM, if processes_find_space() has met it.
 * False: the process is not kept; *root is untouched.
 */
bool processes_get_root(struct processes *processes, uint64_t mm, struct memory_root *root);
/*
 * Whether ROOT, a vCPU's, is of the process that processes_get_root() knows. A sample with page
 * tables of another process was taken before an exec().
 */
bool processes_has_mm_root(struct processes *processes, uint64_t mm, struct memory_root root);
/* Whether a process that is kept has the page tables ROOT, a vCPU's. */
bool processes_has_root(const struct processes *processes, struct memory_root root);
/*
 * The space of the process that had the page tables ROOT when a task of the process TGID was
 * sampled; the task has no mm now, or another one. NULL: no such process is kept. Valid as
 * processes_find_space().
 */
const struct space *processes_find_past(struct processes *processes, struct memory_root root,
					uint32_t tgid);
/*
 * For user code whose process cannot be read any more: a space of the one page at ADDRESS, which
 * lay in FRAME at TIME_NS. NULL: the page belongs to no file that is known
 * (code_files_find_by_frame()). Valid until the next call of this function. Calls memory_refresh().
 */
const struct space *processes_find_by_frame(struct processes *processes, uint64_t address,
					    frame_t frame, uint64_t time_ns);

/* Reads again what was missing. To be called several times a second. */
void processes_poll(struct processes *processes, uint64_t now_ns);

struct processes_counts processes_counts(const struct processes *processes);
/*
 * Short lines for the user: what is missing, why, and what would help. PREVIOUS NULL: the first
 * line. NULL: there are no more lines. Lines are valid until the first one is asked for again.
 */
const char *processes_next_note(struct processes *processes, const char *previous);

#endif
