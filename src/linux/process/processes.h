/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spaces of the guest's processes: the code at each address, for samples of these processes. A
 * space is made at the first request for a process, and checked at later requests. Number and
 * memory are bounded. Resolver's thread.
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

/* number kept; the least recently used is replaced first */
#define PROCESSES_MAX LIMIT(1024, 16)
/* time between two checks of a process that is not young */
#define PROCESSES_FRESH_NS 100000000ULL
/* time between walks in kernels whose keys do not show every change */
#define PROCESSES_WALK_NS  1000000000ULL
#define PROCESSES_RETRY_NS 100000000ULL /* delay of the first retry of torn areas */
/* a process without requests for this long is not retried */
#define PROCESSES_IDLE_NS    60000000000ULL
#define PROCESSES_POLL_READS 4               /* processes read in one poll */

struct processes;

struct processes_settings {
	struct debug_places debug;
	/* symbols of -k, borrowed, outlive the processes; NULL if there are none */
	const struct symbols *symbols;
	size_t budget_bytes; /* memory limit; 0: a share of all guests' */
	uint64_t walk_bytes; /* limit for one walk; 0 for CODE_FILES_MAX_WALK_BYTES */
	bool at_once;        /* code is not read in turns (guest_code.h) */
};

struct processes_counts {
	unsigned kept;
	/* Numbers of kept processes with a property: */
	unsigned torn;           /* some areas are missing, or changed while they were read */
	unsigned jit, named_jit; /* they have compiled code; they have names for compiled code */
	/* Counters since the start: */
	uint64_t walks, retries;
	uint64_t unreadable; /* mm_structs that could not be read */
	uint64_t evicted;
	uint64_t made_room;      /* evicted processes that had to go because the budget was full */
	uint64_t left_out;       /* areas beyond PROCESS_MAX_AREAS, or without budget */
	/* times that names of compiled code were not read because the budget was full */
	uint64_t no_room;
	/* Present amounts: */
	size_t room_bytes; /* memory charged to the budget */
	struct code_files_counts files;
};

/* GUEST has a layout, and outlives the processes. Error: out of memory. */
struct xtop_error *processes_create(const struct linux_guest *guest,
				    const struct processes_settings *settings,
				    struct processes **processesp);
void processes_destroy(struct processes *processes); /* NULL allowed */

/*
 * The space of TASK's process; NULL for a kernel thread, or if the process cannot be read. The
 * pointer is valid until processes_find_space() or processes_poll() is called again. Calls
 * memory_refresh() if the process has changed.
 */
const struct space *processes_find_space(struct processes *processes, const struct task *task,
					 uint64_t now_ns);
/*
 * The page tables of the process with the mm_struct at MM, if processes_find_space() has met it.
 * Returns false and leaves *root untouched if the process is not kept.
 */
bool processes_get_root(struct processes *processes, uint64_t mm, struct memory_root *root);
/*
 * Whether ROOT, a vCPU's page tables, belongs to the process of MM, which processes_get_root()
 * knows. A sample with page tables of another process was taken before an exec().
 */
bool processes_has_mm_root(struct processes *processes, uint64_t mm, struct memory_root root);
/* Whether a kept process has the page tables ROOT of a vCPU. */
bool processes_has_root(const struct processes *processes, struct memory_root root);
/*
 * The space of the process that had the page tables ROOT when a task of the process TGID was
 * sampled; the task has no mm now, or another one. NULL if no such process is kept. The pointer is
 * valid as long as that of processes_find_space().
 */
const struct space *processes_find_past(struct processes *processes, struct memory_root root,
					uint32_t tgid);
/*
 * For user code whose process cannot be read any more: a space with the page at ADDRESS, which lay
 * in FRAME at TIME_NS, and with the rest of its segment. NULL if the page belongs to no known file
 * (code_files_find_by_frame()). The pointer is valid until the next call of this function. Calls
 * memory_refresh().
 */
const struct space *processes_find_by_frame(struct processes *processes, uint64_t address,
					    frame_t frame, uint64_t time_ns);

/* Reads missing data again. Call this several times a second. */
void processes_poll(struct processes *processes, uint64_t now_ns);

struct processes_counts processes_counts(const struct processes *processes);
/*
 * Short lines for the user: data that is missing, the reason, and a remedy. PREVIOUS is NULL for
 * the first line. Returns NULL after the last line. Lines are valid until the first one is
 * requested again.
 */
const char *processes_next_note(struct processes *processes, const char *previous);

#endif
