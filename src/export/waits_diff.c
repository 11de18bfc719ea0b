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
 * first. Looks at one long wait are no independent samples, so there are no intervals. With --json
 * both tables are one object on one line (doc/waits-diff.schema.json). Main's thread.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/json.h"
#include "xtop/base/vector.h"
#include "xtop/query/locks.h"
#include "xtop/query/waits.h"

#define WAITS_DIFF_JSON_VERSION 1
#define WAITS_DIFF_MAX_CELLS    4
#define WAITS_DIFF_LEAST        0.005 /* smaller differences would print as 0.00 */

enum waits_side { WAITS_OLD, WAITS_NEW, N_WAITS_SIDES };

struct waits_diff_row {
	/* The cells that identify a row: strings of snapshots, or constants; "" if unknown. */
	const char *cells[WAITS_DIFF_MAX_CELLS];
	double mean[N_WAITS_SIDES];
	uint64_t longest_ns[N_WAITS_SIDES];
};

struct waits_diff;

/* One table. */
struct waits_diff_kind {
	const char *header;      /* the text above the cells */
	const char *list;        /* name of the array in JSON */
	const char *names[WAITS_DIFF_MAX_CELLS]; /* names of cells in JSON; NULL after the last */
	struct xtop_error *(*add)(struct waits_diff *diff, enum waits_side side,
				  const struct snapshot *snapshot);
	void (*print_cells)(const struct waits_diff_row *row, FILE *file);
};

struct waits_diff {
	struct waits_diff_row *rows;
	size_t n, capacity;
	bool failed;
};

/* Adds a row for the caller to fill in. Returns NULL if memory is out. */
static struct waits_diff_row *waits_diff_add(struct waits_diff *diff, enum waits_side side,
					     double mean, uint64_t longest_ns)
{
	struct waits_diff_row *row;

	if (!vector_reserve(diff->rows, diff->capacity, diff->n + 1)) {
		diff->failed = true;
		return NULL;
	}
	row = &diff->rows[diff->n++];
	*row = (struct waits_diff_row){ .cells = { "", "", "", "" } };
	row->mean[side] = mean;
	row->longest_ns[side] = longest_ns;
	return row;
}

static const char *waits_diff_name(const struct snapshot *snapshot, uint32_t frame)
{
	return frame == FRAME_NONE ? "" : frames_get(snapshot->frames, frame)->name;
}

/* --- sites ------------------------------------------------------------------------------------ */

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
		if (!to)
			break;
		to->cells[0] = wait_kind_names[row->site.kind];
		to->cells[1] = waits_diff_name(snapshot, row->process);
		to->cells[2] = waits_diff_name(snapshot, row->thread);
		to->cells[3] = waits_diff_name(snapshot, row->site.frame);
	}
	waits_deinit(&table);
	return NULL;
}

static const char *waits_diff_or_dash(const char *text)
{
	return *text ? text : "-";
}

static void waits_diff_print_site(const struct waits_diff_row *row, FILE *file)
{
	fprintf(file, "%-10s  %-16.100s  %-16.100s  %.200s\n", row->cells[0],
		waits_diff_or_dash(row->cells[1]), waits_diff_or_dash(row->cells[2]),
		waits_diff_or_dash(row->cells[3]));
}

static const struct waits_diff_kind waits_diff_sites = {
	.header = "For         Process           Thread            Site",
	.list = "sites",
	.names = { "for", "process", "thread", "site" },
	.add = waits_diff_add_sites,
	.print_cells = waits_diff_print_site,
};

/* --- locks ------------------------------------------------------------------------------------ */

/* Addresses differ between boots, so locks without a name are summed up by kind. */
static struct xtop_error *waits_diff_add_locks(struct waits_diff *diff, enum waits_side side,
					       const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->waits->n_locks; i++) {
		const struct locks_line line = { .kind = LOCKS_LOCK, .lock = (uint32_t)i };
		const struct snapshot_lock *lock = &snapshot->waits->locks[i];
		struct waits_diff_row *to = waits_diff_add(
			diff, side, locks_mean(snapshot, &line, true), lock->longest_ns);

		if (!to)
			break;
		to->cells[0] = locks_kind_names[lock->kind];
		to->cells[1] = lock->name;
	}
	return NULL;
}

static void waits_diff_print_lock(const struct waits_diff_row *row, FILE *file)
{
	fprintf(file, "%s %s\n", row->cells[0], *row->cells[1] ? row->cells[1] : "without a name");
}

static const struct waits_diff_kind waits_diff_locks = {
	.header = "Lock",
	.list = "locks",
	.names = { "kind", "name" },
	.add = waits_diff_add_locks,
	.print_cells = waits_diff_print_lock,
};

/* --- rows of both snapshots ------------------------------------------------------------------- */

static int waits_diff_compare_cells(const void *pointer_a, const void *pointer_b)
{
	const struct waits_diff_row *a = pointer_a, *b = pointer_b;
	int order = 0;

	for (int i = 0; i < WAITS_DIFF_MAX_CELLS && !order; i++)
		order = strcmp(a->cells[i], b->cells[i]);
	return order;
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
	return waits_diff_compare_cells(a, b);
}

/* Rows with equal cells become one: both sides have it, or threads and locks share a name. */
static void waits_diff_merge(struct waits_diff *diff)
{
	size_t n = 0;

	if (!diff->n)
		return;
	qsort(diff->rows, diff->n, sizeof(*diff->rows), waits_diff_compare_cells);
	for (size_t i = 1; i < diff->n; i++) {
		const struct waits_diff_row *row = &diff->rows[i];

		if (waits_diff_compare_cells(&diff->rows[n], row) != 0) {
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

static bool waits_diff_differs(const struct waits_diff_row *row)
{
	return fabs(waits_diff_delta(row)) >= WAITS_DIFF_LEAST;
}

/* The caller frees *DIFF's rows, also on error. */
static struct xtop_error *waits_diff_build(const struct waits_diff_kind *kind,
					   const struct snapshot *now, const struct snapshot *base,
					   struct waits_diff *diff)
{
	struct xtop_error *error = kind->add(diff, WAITS_OLD, base);

	if (!error)
		error = kind->add(diff, WAITS_NEW, now);
	if (!error && diff->failed)
		error = error_create("no memory for the comparison of waits");
	if (!error)
		waits_diff_merge(diff);
	return error;
}

/* --- text ------------------------------------------------------------------------------------- */

static void waits_diff_print_row(const struct waits_diff_kind *kind,
				 const struct waits_diff_row *row, FILE *file)
{
	fprintf(file, "%8.2f  %8.2f  %+8.2f  %11.3f  %11.3f  ", row->mean[WAITS_OLD],
		row->mean[WAITS_NEW], waits_diff_delta(row),
		(double)row->longest_ns[WAITS_OLD] / 1e9, (double)row->longest_ns[WAITS_NEW] / 1e9);
	kind->print_cells(row, file);
}

static void waits_diff_print(const struct waits_diff_kind *kind, const struct waits_diff *diff,
			     bool all_rows, FILE *file)
{
	fprintf(file, "%8s  %8s  %8s  %11s  %11s  %s\n", "Old", "New", "Delta", "Old longest",
		"New longest", kind->header);
	for (size_t i = 0; i < diff->n; i++)
		if (all_rows || waits_diff_differs(&diff->rows[i]))
			waits_diff_print_row(kind, &diff->rows[i], file);
}

static void waits_diff_print_side(const char *which, const char *name,
				  const struct snapshot *snapshot, FILE *file)
{
	fprintf(file, "%s: %s: tasks %" PRIu64 ", elapsed %.1f s\n", which, name,
		snapshot->waits->counts.tasks, snapshot->waits->span_ticks / 1e3);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void waits_diff_put_row(struct json *json, const struct waits_diff_kind *kind,
			       const struct waits_diff_row *row)
{
	json_open(json, NULL, '{');
	json_double(json, "old", row->mean[WAITS_OLD]);
	json_double(json, "new", row->mean[WAITS_NEW]);
	json_double(json, "delta", waits_diff_delta(row));
	json_double(json, "old_longest_s", (double)row->longest_ns[WAITS_OLD] / 1e9);
	json_double(json, "new_longest_s", (double)row->longest_ns[WAITS_NEW] / 1e9);
	for (int i = 0; i < WAITS_DIFF_MAX_CELLS && kind->names[i]; i++)
		json_text(json, kind->names[i], row->cells[i]);
	json_close(json, '}');
}

static void waits_diff_put(struct json *json, const struct waits_diff_kind *kind,
			   const struct waits_diff *diff, bool all_rows)
{
	json_open(json, kind->list, '[');
	for (size_t i = 0; i < diff->n; i++)
		if (all_rows || waits_diff_differs(&diff->rows[i]))
			waits_diff_put_row(json, kind, &diff->rows[i]);
	json_close(json, ']');
}

static void waits_diff_put_side(struct json *json, const char *which, const char *name,
				const struct snapshot *snapshot)
{
	json_open(json, which, '{');
	json_text(json, "name", name);
	json_u64(json, "tasks", snapshot->waits->counts.tasks);
	json_double(json, "elapsed_s", snapshot->waits->span_ticks / 1e3);
	json_close(json, '}');
}

/* --- tables of sites and locks ---------------------------------------------------------------- */

static void waits_diff_write_json(const struct snapshot *now, const struct snapshot *base,
				  const struct waits_diff_options *options,
				  const struct waits_diff *sites, const struct waits_diff *locks,
				  FILE *file)
{
	struct json json = { .file = file, .compact = true };

	json_open(&json, NULL, '{');
	json_u64(&json, "version", WAITS_DIFF_JSON_VERSION);
	waits_diff_put_side(&json, "old", options->base_name, base);
	waits_diff_put_side(&json, "new", options->now_name, now);
	waits_diff_put(&json, &waits_diff_sites, sites, options->all_rows);
	waits_diff_put(&json, &waits_diff_locks, locks, options->all_rows);
	json_close(&json, '}');
	putc('\n', file);
}

static void waits_diff_write(const struct snapshot *now, const struct snapshot *base,
			     const struct waits_diff_options *options,
			     const struct waits_diff *sites, const struct waits_diff *locks,
			     FILE *file)
{
	waits_diff_print_side("old", options->base_name, base, file);
	waits_diff_print_side("new", options->now_name, now, file);
	waits_diff_print(&waits_diff_sites, sites, options->all_rows, file);
	putc('\n', file);
	waits_diff_print(&waits_diff_locks, locks, options->all_rows, file);
}

struct xtop_error *export_waits_diff(const struct snapshot *now, const struct snapshot *base,
				     const struct waits_diff_options *options, FILE *file)
{
	struct waits_diff sites = { .rows = NULL }, locks = { .rows = NULL };
	struct xtop_error *error = waits_diff_build(&waits_diff_sites, now, base, &sites);

	if (!error)
		error = waits_diff_build(&waits_diff_locks, now, base, &locks);
	if (!error && options->json)
		waits_diff_write_json(now, base, options, &sites, &locks, file);
	else if (!error)
		waits_diff_write(now, base, options, &sites, &locks, file);
	free(sites.rows);
	free(locks.rows);
	return error;
}
