/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was left out of what a guest has inside, as numbers for the screen. */
#ifndef XTOP_OS_COUNTS_H
#define XTOP_OS_COUNTS_H

#include <stdint.h>

/*
 * What was not read or not kept of a guest, because a limit was reached
 * (linux/process/memory_budget.h and others) or because it was damaged. Numbers count from when the
 * kernel was found; those marked "now" tell how many there are at the moment.
 */
struct os_counts {
	uint64_t areas_left_out;    /* of processes; their code has no names */
	uint64_t files_no_room;     /* times a file was not read, or not read again */
	uint64_t files_cut;         /* now: files with too many symbols, or damaged ones */
	uint64_t files_too_large;   /* now: files of which more is needed than is read of one */
	uint64_t jit_no_room;       /* times names of compiled code were not read */
	uint64_t processes_evicted; /* to make room for others; they are read again when they run */
	uint64_t tasks_evicted;     /* the same for tasks */
	uint64_t tasks_refused;     /* there was no task any more: mostly it had ended */
	uint64_t cgroups_unreadable; /* control groups of tasks: mostly the group had gone */
	uint64_t modules_cut;       /* now: modules of which symbols or tables were left out */
	uint64_t code_by_frame;     /* samples of ended processes: code was found by its frame */
	uint64_t room_bytes;        /* now: memory of files, areas and names of compiled code */
};

#endif
