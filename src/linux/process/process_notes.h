/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Short lines for the user: data about the guest's processes that is missing, and remedies. Built
 * from the counts alone. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PROCESS_NOTES_H
#define XTOP_PROCESS_PROCESS_NOTES_H

#include "linux/process/code_files.h"
#include "xtop/supervise/fetch.h"

#define PROCESS_NOTES_MAX 5
#define PROCESS_NOTE_BYTES 96

struct process_notes {
	char text[PROCESS_NOTES_MAX][PROCESS_NOTE_BYTES];
	unsigned n;
};

/* UNNAMED_JIT is the number of processes that have compiled code without names. */
void process_notes_build(struct process_notes *notes, const struct code_files_counts *files,
			 unsigned unnamed_jit, const struct fetch_progress *progress);

#endif
