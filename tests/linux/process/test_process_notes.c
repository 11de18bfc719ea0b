/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes about what is missing: none, one thing, several things, all notes with large numbers. */
#include "config.h"

#include "linux/process/process_notes.h"
#include "tests/support/tap.h"

static struct process_notes notes;
static struct fetch_progress progress;

static void build(struct code_files_counts files, unsigned unnamed_jit)
{
	process_notes_build(&notes, &files, unnamed_jit, &progress);
}

int main(void)
{
	const unsigned many = UINT32_MAX;

	build((struct code_files_counts){ .kept = 7 }, 0);
	check_u64(notes.n, 0, "number of notes if nothing is missing");
	build((struct code_files_counts){ .incomplete = 1 }, 0);
	check_u64(notes.n, 1, "number of notes about one file");
	check_string(notes.text[0],
		     "1 program file is not in the guest's memory in whole: --root DIR has it",
		     "a note about one file");
	build((struct code_files_counts){ .no_symbols = 2 }, 1);
	check_u64(notes.n, 2, "number of notes about two kinds of files");
	check_string(notes.text[0],
		     "2 program files have no symbols (stripped): --debug-dir DIR or -k FILE",
		     "a note about two files");
	check_string(notes.text[1],
		     "1 process has compiled code without names: no /tmp/perf-PID.map",
		     "a note about one process");
	build((struct code_files_counts){ .incomplete = many, .no_symbols = many, .elf32 = many },
	      many);
	check_u64(notes.n, PROCESS_NOTES_MAX - 1, "number of notes about the guest at most");
	progress = (struct fetch_progress){ .n_waiting = many, .done_bytes = UINT64_MAX,
					    .total_bytes = UINT64_MAX };
	memset(progress.message, 'x', sizeof(progress.message) - 1);
	build((struct code_files_counts){ .incomplete = many, .no_symbols = many, .elf32 = many },
	      many);
	check_u64(notes.n, PROCESS_NOTES_MAX, "number of notes at most");
	progress = (struct fetch_progress){ .n_waiting = 2, .done_bytes = 3 << 19,
					    .total_bytes = 4 << 20 };
	build((struct code_files_counts){ .kept = 1 }, 0);
	check_string(notes.text[0], "debuginfod: 2 to fetch, 1.5 of 4.0 MiB",
		     "a note tells the progress of fetching");
	progress = (struct fetch_progress){ .n_none = 1, .message = "Connection refused" };
	build((struct code_files_counts){ .kept = 1 }, 0);
	check_string(notes.text[0], "debuginfod: Connection refused",
		     "a note tells why fetching failed");
	progress = (struct fetch_progress){ .n_waiting = many };
	build((struct code_files_counts){ .incomplete = many, .no_symbols = many, .elf32 = many },
	      many);
	for (unsigned i = 0; i < notes.n; i++)
		check(strlen(notes.text[i]) < PROCESS_NOTE_BYTES - 1, "a note fits: %s",
		      notes.text[i]);
	return tap_done();
}
