/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wording of the notes; see process_notes.h. Resolver's thread. */
#include "config.h"

#include "linux/process/process_notes.h"

#include <stdio.h>

/* Adds a note about N things, if N is not 0. ONE and MANY are the texts behind the number. */
static void process_notes_add(struct process_notes *notes, unsigned n, const char *one,
			      const char *many)
{
	if (!n || notes->n == PROCESS_NOTES_MAX)
		return;
	snprintf(notes->text[notes->n++], PROCESS_NOTE_BYTES, "%u %s", n, n == 1 ? one : many);
}

void process_notes_build(struct process_notes *notes, const struct code_files_counts *files,
			 unsigned unnamed_jit)
{
	notes->n = 0;
	process_notes_add(
		notes, files->incomplete,
		"program file is not in the guest's memory in whole: --root DIR has it",
		"program files are not in the guest's memory in whole: --root DIR has them");
	process_notes_add(notes, files->no_symbols,
			  "program file has no symbols (stripped): -k FILE, by build-id",
			  "program files have no symbols (stripped): -k FILE, by build-id");
	process_notes_add(
		notes, files->elf32,
		"program file is of a 32-bit program: it is neither named nor unwound",
		"program files are of 32-bit programs: these are neither named nor unwound");
	process_notes_add(notes, unnamed_jit,
			  "process has compiled code without names: no /tmp/perf-PID.map",
			  "processes have compiled code without names: no /tmp/perf-PID.map");
}
