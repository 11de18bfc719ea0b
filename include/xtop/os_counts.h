/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the reader of a guest's insides had to leave out, as numbers for the screen. */
#ifndef XTOP_OS_COUNTS_H
#define XTOP_OS_COUNTS_H

#include <stdint.h>

/*
 * What is not kept of a Linux guest, for want of room (linux/process/room.h and the limits beside
 * it) or because it is none; since its kernel was met, or, of what is kept in part, now.
 */
struct os_counts {
	uint64_t areas_left_out;    /* of processes: their code has no names */
	uint64_t files_no_room;     /* times a file was not read, or not read again */
	uint64_t files_cut;         /* now: more symbols than are kept of one, or damaged ones */
	uint64_t files_too_large;   /* now: more is needed of it than is read of one */
	uint64_t jit_no_room;       /* times names of compiled code were not read */
	uint64_t processes_evicted; /* made room for others; read again when they run */
	uint64_t tasks_evicted;     /* the same */
	uint64_t tasks_refused;     /* what stood there was no task: it had ended, mostly */
	uint64_t modules_cut;       /* now: with fewer symbols than they have */
	uint64_t code_by_frame;     /* samples of processes that were gone: code told by its frame */
	uint64_t room_bytes;        /* now: taken by files, areas and names of compiled code */
};

#endif
