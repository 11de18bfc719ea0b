/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of what xtop left out when it read the inside of a guest. The screen shows them. */
#ifndef XTOP_OS_COUNTS_H
#define XTOP_OS_COUNTS_H

#include <stdint.h>

/*
 * What was not read or not kept because a limit was reached (linux/process/memory_budget.h and
 * others) or because guest data was damaged. Counters start when the kernel is found; members
 * marked "now" are current amounts.
 */
struct os_counts {
	uint64_t areas_left_out;  /* memory areas of processes; code in these areas has no names */
	uint64_t files_no_room;   /* times a file was not read, or not read again */
	uint64_t files_cut;       /* now: files with too many symbols, or damaged ones */
	uint64_t files_too_large; /* now: files that need more memory than one file may have */
	uint64_t jit_no_room;     /* times that the names of compiled code were not read */
	/* processes dropped to make room; each is read again when it runs */
	uint64_t processes_evicted;
	uint64_t tasks_evicted; /* tasks dropped to make room; each is read again when it runs */
	/* task_structs that held no task any more, mostly because it had ended */
	uint64_t tasks_refused;
	/* control groups that could not be read, mostly because they had gone */
	uint64_t cgroups_unreadable;
	uint64_t modules_cut; /* now: modules whose symbols or tables are incomplete */
	/* samples of ended processes whose code was found by its page frame */
	uint64_t code_by_frame;
	uint64_t room_bytes; /* now: memory for files, areas and names of compiled code */
};

#endif
