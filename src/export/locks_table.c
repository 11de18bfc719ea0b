/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of locks in batch mode, which comes after that of waits (doc/FORMATS). Main's thread:
 *
 *	web01 dom 5 PVH: locks that tasks wait for 1, waiters 4, deadlocks 0, not told 0, moved 0
 *	   Now      Mean    Longest   Waits  Holder, its locks, who waits for them
 *	                                     web: holder 212 sleeps in do_nanosleep for 800 ms
 *	     4      3.75      1.500      44    futex 0x55d0c3a0 (a guess)
 *	     4                1.204             4 x web: futex 207 sleeps in wait_futex for 1.2 s
 *
 * and an empty line. "Longest" is in seconds. Each step into the forest is two spaces.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <inttypes.h>

#include "xtop/query/locks.h"

#define LOCKS_FIGURES "%6s  %8s  %9s  %6s  "

static void locks_print_line(const struct snapshot *snapshot, const struct locks_line *line,
			     const struct table_options *options, FILE *file)
{
	const struct snapshot_waits *waits = snapshot->waits;
	char now[16] = "", mean[32] = "", longest[32] = "", seen[32] = "", text[LOCKS_TEXT_BYTES];

	if (line->kind == LOCKS_LOCK) {
		const struct snapshot_lock *lock = &waits->locks[line->lock];

		snprintf(now, sizeof(now), "%" PRIu32, lock->now);
		snprintf(mean, sizeof(mean), "%.2f", locks_mean(snapshot, line, options->totals));
		snprintf(longest, sizeof(longest), "%.3f", (double)lock->longest_ns / 1e9);
		snprintf(seen, sizeof(seen), "%" PRIu64, lock->waits);
		locks_name(snapshot, line, text);
	} else {
		locks_describe(snapshot, line, text);
	}
	if (line->kind == LOCKS_WAITERS) {
		snprintf(now, sizeof(now), "%" PRIu32, line->n);
		snprintf(longest, sizeof(longest), "%.3f",
			 (double)waits->lock_tasks[line->task].waited_ns / 1e9);
	}
	if (line->kind == LOCKS_DEADLOCK)
		fprintf(file, "DEADLOCK: %s\n", text);
	else
		fprintf(file, LOCKS_FIGURES "%*s%s\n", now, mean, longest, seen,
			2 * (int)line->depth, "", text);
}

struct xtop_error *export_locks_table(const struct snapshot *snapshot,
				      const struct table_options *options, FILE *file)
{
	const struct os_waits_counts *counts = &snapshot->waits->counts;
	struct locks_forest forest;
	struct xtop_error *error;

	if (snapshot->waits->unsupported)
		return NULL;
	error = locks_build(snapshot, &forest);
	if (error)
		return error;
	fprintf(file,
		"%s: locks that tasks wait for %" PRIu32 ", waiters %" PRIu32
		", deadlocks %" PRIu32 ", not told %" PRIu64 ", moved %" PRIu64 "\n",
		options->title, forest.locks, forest.waiters, forest.deadlocks,
		counts->locks_unknown, counts->locks_moved);
	fprintf(file, LOCKS_FIGURES "%s\n", "Now", "Mean", "Longest", "Waits",
		"Holder, its locks, who waits for them");
	for (size_t i = 0; i < forest.n; i++)
		locks_print_line(snapshot, &forest.lines[i], options, file);
	putc('\n', file);
	locks_deinit(&forest);
	return NULL;
}
