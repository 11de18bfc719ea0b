/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of waits in batch mode, on main's thread (doc/FORMATS); "Longest" is in seconds:
 *
 *	web01 dom 5 PVH: waits at 2.0 Hz, tasks 214, elapsed 20.0 s, idle 187.3, left out 0
 *	   Now     Mean    Longest  State  For         Process  Thread  Site
 *	     3     2.71      4.2 s  D      block I/O   dd       -       [k] rq_qos_wait
 *
 * and an empty line. Columns are separated by two spaces or more, and no cell holds two in a row.
 * Rows of idle pools are left out; "idle" is their mean number of tasks.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "xtop/query/waits.h"

#define WAITS_NAME_CELLS 16

static void waits_print_head(const struct snapshot *snapshot, const struct waits_table *table,
			     const struct table_options *options, FILE *file)
{
	const struct snapshot_waits *waits = snapshot->waits;
	const struct os_waits_counts *counts = &waits->counts;
	struct waits_idle idle = waits_count_idle(table);

	if (waits->unsupported) {
		fprintf(file,
			"%s: no list of tasks was found in this guest: who waits is not known\n",
			options->title);
		return;
	}
	fprintf(file,
		"%s: waits at %.1f Hz, tasks %" PRIu64
		", elapsed %.1f s, idle %.1f, left out %" PRIu64 "\n",
		options->title,
		waits->span_ticks > 0 ? (double)counts->passes * 1e3 / waits->span_ticks : 0,
		counts->tasks, waits->span_ticks / 1e3,
		options->totals ? idle.mean_total : idle.mean, counts->left_out);
}

static const char *waits_name(const struct snapshot *snapshot, uint32_t frame)
{
	const char *name = frame == FRAME_NONE ? "" : frames_get(snapshot->frames, frame)->name;

	return *name ? name : "-";
}

static const char *waits_mark(const struct snapshot *snapshot, uint32_t frame)
{
	if (frame == FRAME_NONE)
		return "";
	return frames_get(snapshot->frames, frame)->kind == FRAME_KIND_KERNEL ? "[k] " : "[.] ";
}

static void waits_print_row(const struct snapshot *snapshot, const struct waits_row *row,
			    const struct table_options *options, FILE *file)
{
	char states[WAITS_STATES_BYTES], buffer[FRAME_TEXT_BYTES];
	const struct frame *site = row->site.frame == FRAME_NONE
					   ? NULL
					   : frames_get(snapshot->frames, row->site.frame);

	fprintf(file, "%6" PRIu32 "  %8.2f  %9.3f  %-5s  %-10s  %-*s  %-*s  %s%s\n", row->now,
		options->totals ? row->mean_total : row->mean, (double)row->longest_ns / 1e9,
		waits_states(row, states), wait_kind_names[row->site.kind], WAITS_NAME_CELLS,
		waits_name(snapshot, row->process), WAITS_NAME_CELLS,
		waits_name(snapshot, row->thread), waits_mark(snapshot, row->site.frame),
		site ? frame_text(site, options->addresses, buffer) : "-");
}

struct xtop_error *export_waits_table(const struct snapshot *snapshot,
				      const struct table_options *options, FILE *file)
{
	struct waits_table table;
	struct xtop_error *error = waits_build_filtered(snapshot, options->filter, &table);

	if (error)
		return error;
	waits_sort(&table, snapshot->frames, WAITS_BY_MEAN, options->totals);
	waits_print_head(snapshot, &table, options, file);
	fprintf(file, "%6s  %8s  %9s  %-5s  %-10s  %-*s  %-*s  %s\n", "Now", "Mean", "Longest",
		"State", "For", WAITS_NAME_CELLS, "Process", WAITS_NAME_CELLS, "Thread", "Site");
	for (size_t i = 0; i < table.n; i++)
		if (!table.rows[i].site.idle)
			waits_print_row(snapshot, &table.rows[i], options, file);
	putc('\n', file);
	waits_deinit(&table);
	return NULL;
}
