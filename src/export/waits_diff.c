/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of --diff with --profile=waits (doc/FORMATS):
 *
 *	old: old.xrec: tasks 214, elapsed 60.0 s
 *	new: new.xrec: tasks 220, elapsed 60.0 s
 *	     Old      New     Delta   Old longest  New longest  For        Process  Thread  Site
 *	    2.71     0.10     -2.61         4.200        0.300  block I/O  dd       -       wait
 *	(an empty line, and the same for locks)
 *
 * The figures are mean numbers of tasks since the start, and seconds. What differs most stands
 * first. Looks at one long wait are no independent samples, so there are no intervals. Main's
 * thread.
 */
#include "config.h"

#include "xtop/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/locks.h"
#include "xtop/vector.h"
#include "xtop/waits.h"

#define WAITS_DIFF_TEXT_BYTES 512
#define WAITS_DIFF_LEAST      0.005 /* what is less prints as no difference */

enum waits_side { WAITS_OLD, WAITS_NEW, N_WAITS_SIDES };

struct waits_diff_row {
	char text[WAITS_DIFF_TEXT_BYTES]; /* what is compared, as it is printed */
	double mean[N_WAITS_SIDES];
	uint64_t longest_ns[N_WAITS_SIDES];
};

struct waits_diff {
	struct waits_diff_row *rows;
	size_t n, capacity;
	bool failed;
};

/* A row with what the caller knows of one side; NULL: out of memory. */
static struct waits_diff_row *waits_diff_add(struct waits_diff *diff, enum waits_side side,
					     double mean, uint64_t longest_ns)
{
	struct waits_diff_row *row;

	if (!vector_reserve(diff->rows, diff->capacity, diff->n + 1)) {
		diff->failed = true;
		return NULL;
	}
	row = &diff->rows[diff->n++];
	*row = (struct waits_diff_row){ .text = "" };
	row->mean[side] = mean;
	row->longest_ns[side] = longest_ns;
	return row;
}

static const char *waits_diff_name(const struct snapshot *snapshot, uint32_t frame)
{
	const char *name = frame == FRAME_NONE ? "" : frames_get(snapshot->frames, frame)->name;

	return *name ? name : "-";
}

static struct xtop_error *waits_diff_add_sites(struct waits_diff *diff, enum waits_side side,
					       const struct snapshot *snapshot)
{
	struct waits_table table;
	struct xtop_error *error = waits_build(snapshot, &table);

	if (error)
		return error;
	for (size_t i = 0; i < table.n; i++) {
		const struct waits_row *row = &table.rows[i];
		struct waits_diff_row *to;

		if (row->site.idle)
			continue;
		to = waits_diff_add(diff, side, row->mean_total, row->longest_ns);
		if (to)
			snprintf(to->text, sizeof(to->text), "%-10s  %-16.100s  %-16.100s  %.200s",
				 wait_kind_names[row->site.kind],
				 waits_diff_name(snapshot, row->process),
				 waits_diff_name(snapshot, row->thread),
				 waits_diff_name(snapshot, row->site.frame));
	}
	waits_deinit(&table);
	return NULL;
}

/* An address says something of one boot only: locks without a name count by their kind. */
static struct xtop_error *waits_diff_add_locks(struct waits_diff *diff, enum waits_side side,
					       const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->waits.n_locks; i++) {
		const struct locks_line line = { .kind = LOCKS_LOCK, .lock = (uint32_t)i };
		const struct snapshot_lock *lock = &snapshot->waits.locks[i];
		struct waits_diff_row *to = waits_diff_add(
			diff, side, locks_mean(snapshot, &line, true), lock->longest_ns);

		if (to)
			snprintf(to->text, sizeof(to->text), "%s %s", locks_kind_names[lock->kind],
				 lock->name[0] ? lock->name : "without a name");
	}
	return NULL;
}

static int waits_diff_compare_texts(const void *a, const void *b)
{
	return strcmp(((const struct waits_diff_row *)a)->text,
		      ((const struct waits_diff_row *)b)->text);
}

static double waits_diff_delta(const struct waits_diff_row *row)
{
	return row->mean[WAITS_NEW] - row->mean[WAITS_OLD];
}

static int waits_diff_compare(const void *a, const void *b)
{
	double x = fabs(waits_diff_delta(a)), y = fabs(waits_diff_delta(b));

	if (x != y)
		return x < y ? 1 : -1;
	return waits_diff_compare_texts(a, b);
}

/* Rows with one text become one: both sides have it, or threads and locks share a name. */
static void waits_diff_merge(struct waits_diff *diff)
{
	size_t n = 0;

	if (!diff->n)
		return;
	qsort(diff->rows, diff->n, sizeof(*diff->rows), waits_diff_compare_texts);
	for (size_t i = 1; i < diff->n; i++) {
		const struct waits_diff_row *row = &diff->rows[i];

		if (strcmp(diff->rows[n].text, row->text) != 0) {
			diff->rows[++n] = *row;
			continue;
		}
		for (int side = 0; side < N_WAITS_SIDES; side++) {
			diff->rows[n].mean[side] += row->mean[side];
			if (row->longest_ns[side] > diff->rows[n].longest_ns[side])
				diff->rows[n].longest_ns[side] = row->longest_ns[side];
		}
	}
	diff->n = n + 1;
	qsort(diff->rows, diff->n, sizeof(*diff->rows), waits_diff_compare);
}

typedef struct xtop_error *waits_diff_add_fn(struct waits_diff *diff, enum waits_side side,
					     const struct snapshot *snapshot);

static struct xtop_error *waits_diff_print(waits_diff_add_fn *add_rows, const char *header,
					   const struct snapshot *now, const struct snapshot *base,
					   bool all_rows, FILE *file)
{
	struct waits_diff diff = { .rows = NULL };
	struct xtop_error *error = add_rows(&diff, WAITS_OLD, base);

	if (!error)
		error = add_rows(&diff, WAITS_NEW, now);
	if (!error && diff.failed)
		error = error_create("no memory for the comparison of waits");
	if (!error) {
		waits_diff_merge(&diff);
		fprintf(file, "%8s  %8s  %8s  %11s  %11s  %s\n", "Old", "New", "Delta",
			"Old longest", "New longest", header);
	}
	for (size_t i = 0; !error && i < diff.n; i++) {
		const struct waits_diff_row *row = &diff.rows[i];

		if (all_rows || fabs(waits_diff_delta(row)) >= WAITS_DIFF_LEAST)
			fprintf(file, "%8.2f  %8.2f  %+8.2f  %11.3f  %11.3f  %s\n",
				row->mean[WAITS_OLD], row->mean[WAITS_NEW], waits_diff_delta(row),
				(double)row->longest_ns[WAITS_OLD] / 1e9,
				(double)row->longest_ns[WAITS_NEW] / 1e9, row->text);
	}
	free(diff.rows);
	return error;
}

static void waits_diff_print_side(const char *which, const char *name,
				  const struct snapshot *snapshot, FILE *file)
{
	fprintf(file, "%s: %s: tasks %" PRIu64 ", elapsed %.1f s\n", which, name,
		snapshot->waits.counts.tasks, snapshot->waits.span_ticks / 1e3);
}

struct xtop_error *export_waits_diff(const struct snapshot *now, const struct snapshot *base,
				     const struct waits_diff_options *options, FILE *file)
{
	char header[64];
	struct xtop_error *error;

	waits_diff_print_side("old", options->base_name, base, file);
	waits_diff_print_side("new", options->now_name, now, file);
	snprintf(header, sizeof(header), "%-10s  %-16s  %-16s  %s", "For", "Process", "Thread",
		 "Site");
	error = waits_diff_print(waits_diff_add_sites, header, now, base, options->all_rows, file);
	putc('\n', file);
	if (!error)
		error = waits_diff_print(waits_diff_add_locks, "Lock", now, base,
					 options->all_rows, file);
	return error;
}
