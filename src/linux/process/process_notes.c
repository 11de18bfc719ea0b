/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wording of the notes; see process_notes.h. Resolver's thread. */
#include "config.h"

#include "linux/process/process_notes.h"

#include <stdio.h>

/* Adds a note about N things, if N is not 0. ONE and MANY are the texts after the number. */
static void process_notes_add(struct process_notes *notes, unsigned n, const char *one,
			      const char *many)
{
	if (!n || notes->n == PROCESS_NOTES_MAX)
		return;
	snprintf(notes->text[notes->n++], PROCESS_NOTE_BYTES, "%u %s", n, n == 1 ? one : many);
}

/* Adds the progress of fetching, or else its last failure. */
static void process_notes_add_progress(struct process_notes *notes,
				       const struct fetch_progress *progress)
{
	char *text = notes->text[notes->n];
	double mib = 1 << 20;

	if (progress->n_waiting && progress->total_bytes)
		snprintf(text, PROCESS_NOTE_BYTES, "debuginfod: %u to fetch, %.1f of %.1f MiB",
			 progress->n_waiting, (double)progress->done_bytes / mib,
			 (double)progress->total_bytes / mib);
	else if (progress->n_waiting)
		snprintf(text, PROCESS_NOTE_BYTES, "debuginfod: %u to fetch", progress->n_waiting);
	else if (progress->message[0])
		snprintf(text, PROCESS_NOTE_BYTES, "debuginfod: %.80s", progress->message);
	else
		return;
	notes->n++;
}

void process_notes_build(struct process_notes *notes, const struct code_files_counts *files,
			 unsigned unnamed_jit, const struct fetch_progress *progress)
{
	notes->n = 0;
	process_notes_add_progress(notes, progress);
	process_notes_add(
		notes, files->incomplete,
		"program file is not in the guest's memory in whole: --root DIR has it",
		"program files are not in the guest's memory in whole: --root DIR has them");
	process_notes_add(notes, files->no_symbols,
			  "program file has no symbols (stripped): --debug-dir DIR or -k FILE",
			  "program files have no symbols (stripped): --debug-dir DIR or -k FILE");
	process_notes_add(
		notes, files->elf32,
		"program file is of x32: it is neither named nor unwound",
		"program files are of x32: these are neither named nor unwound");
	process_notes_add(notes, unnamed_jit,
			  "process has compiled code without names: no /tmp/perf-PID.map",
			  "processes have compiled code without names: no /tmp/perf-PID.map");
}
