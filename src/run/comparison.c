/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --baseline and --diff; see comparison.h. */
#include "config.h"

#include "run/comparison.h"

#include <errno.h>
#include <string.h>

#include "xtop/base/text.h"
#include "xtop/export/export.h"
#include "xtop/query/columns.h"
#include "xtop/query/diff.h"

/* --- the older run ---------------------------------------------------------------------------- */

/* Gives the older run a pipeline of its own, in which all samples count and nothing decays. */
struct xtop_error *comparison_open(struct comparison *comparison, const struct options *options,
				   const struct host_files *files)
{
	struct options *base_options = &comparison->base_options;

	comparison->options = options;
	if (!options->baseline)
		return NULL;
	*base_options = *options;
	base_options->replay = options->baseline;
	base_options->record = NULL;
	base_options->half_life_s = 0;
	base_options->paced = false;
	base_options->n_symbols = 0;
	return pipeline_create(base_options, files, NULL, &comparison->base);
}

static struct xtop_error *comparison_stop(struct comparison *comparison)
{
	if (!comparison->base || comparison->stopped)
		return NULL;
	comparison->stopped = true;
	return pipeline_stop(comparison->base);
}

struct xtop_error *comparison_start(struct comparison *comparison)
{
	const struct options *options = comparison->options;
	struct xtop_error *error = comparison->base ? pipeline_start(comparison->base) : NULL;

	if (error || !comparison->base ||
	    (options->diff && strcmp(options->baseline, options->replay) != 0))
		return error;
	pipelines_wait_for_end(comparison->base);
	comparison->read = true;
	if (options->diff)
		return NULL;
	error = comparison_stop(comparison);
	comparison->failure = pipeline_get_failure(comparison->base);
	if (!error)
		error = pipeline_snapshot(comparison->base, &comparison->baseline);
	return error;
}

void comparison_deinit(struct comparison *comparison)
{
	error_destroy(comparison_stop(comparison));
	error_destroy(comparison->failure);
	snapshot_destroy(comparison->baseline);
	pipeline_destroy(comparison->base);
}

/* --- the table of --diff ---------------------------------------------------------------------- */

/* Fills SIDE from the stopped PIPELINE. The caller destroys *SNAPSHOTP, which SIDE points to. */
static struct xtop_error *comparison_fill_side(struct pipeline *pipeline, bool children,
					       struct diff_side *side, struct snapshot **snapshotp)
{
	struct xtop_error *error = pipeline_snapshot(pipeline, snapshotp);
	const struct snapshot *snapshot = *snapshotp;

	if (error)
		return error;
	*side = (struct diff_side){ .snapshot = snapshot,
				    .batches = pipeline_batches(pipeline, children),
				    .hz = pipeline_hz(pipeline) };
	if (snapshot->time_ns > snapshot->started_ns)
		side->seconds = (double)(snapshot->time_ns - snapshot->started_ns) / 1e9;
	if (side->seconds > 0 && side->hz > 0) /* the first sample has a period, too */
		side->seconds += 1 / side->hz;
	return NULL;
}

/*
 * Returns an error if a function grew by more than FAIL_OVER points; none if FAIL_OVER is negative.
 */
static struct xtop_error *comparison_judge(const struct diff *diff, double fail_over)
{
	const struct diff_row *row = diff_find_grown(diff);
	double points = row ? 100 * (row->now - row->base) : 0;

	if (fail_over < 0 || !row || points <= fail_over)
		return NULL;
	return error_create("%s grew by %.2f points, more than --fail-over=%g allows",
			    row->frame->name, points, fail_over);
}

static struct xtop_error *comparison_print_sides(const struct diff_side *now,
						 const struct diff_side *base,
						 const struct options *options, FILE *file)
{
	char base_name[256], now_name[256];
	struct diff_table_options table = {
		.base_name = base_name,
		.now_name = now_name,
		.children = options->sort && column_find(options->sort)->id == COLUMN_CHILDREN,
		.all_rows = options->all_rows,
	};
	struct diff diff;
	struct xtop_error *grown, *error = diff_build(now, base, table.children, &diff);

	if (error)
		return error;
	text_clean(base_name, sizeof(base_name), options->baseline, strlen(options->baseline));
	text_clean(now_name, sizeof(now_name), options->replay, strlen(options->replay));
	grown = comparison_judge(&diff, options->fail_over);
	table.over = grown;
	if (options->json)
		export_diff_json(now, base, &diff, &table, file);
	else if (!options->quiet)
		export_diff(now, base, &diff, &table, file);
	if (fflush(file) == EOF || ferror(file))
		error = error_create_errno(errno, "cannot write the table");
	error = error_first(error, grown);
	diff_deinit(&diff);
	return error;
}

static struct xtop_error *comparison_print_waits(struct pipeline *now, struct pipeline *base,
						 const struct options *options, FILE *file)
{
	char base_name[256], now_name[256];
	const struct waits_diff_options table = { base_name, now_name, options->all_rows,
						  options->json };
	struct snapshot *now_waits = NULL, *base_waits = NULL;
	struct xtop_error *error = pipeline_snapshot_waits(base, &base_waits);

	if (!error)
		error = pipeline_snapshot_waits(now, &now_waits);
	if (!error && (!base_waits || !now_waits))
		error = error_create("%s has no tasks that wait: record it with --waits",
				     base_waits ? options->replay : options->baseline);
	text_clean(base_name, sizeof(base_name), options->baseline, strlen(options->baseline));
	text_clean(now_name, sizeof(now_name), options->replay, strlen(options->replay));
	if (!error && !options->quiet)
		error = export_waits_diff(now_waits, base_waits, &table, file);
	if (!error && (fflush(file) == EOF || ferror(file)))
		error = error_create_errno(errno, "cannot write the table");
	snapshot_destroy(now_waits);
	snapshot_destroy(base_waits);
	return error;
}

static struct xtop_error *comparison_print_pipelines(struct pipeline *now, struct pipeline *base,
						     const struct options *options, FILE *file)
{
	bool children = options->sort && column_find(options->sort)->id == COLUMN_CHILDREN;
	struct snapshot *now_snapshot = NULL, *base_snapshot = NULL;
	struct diff_side now_side, base_side;
	struct xtop_error *error;

	if (options->profile == PROFILE_OF_WAITS)
		return comparison_print_waits(now, base, options, file);
	error = comparison_fill_side(base, children, &base_side, &base_snapshot);
	if (!error)
		error = comparison_fill_side(now, children, &now_side, &now_snapshot);
	if (!error)
		error = comparison_print_sides(&now_side, &base_side, options, file);
	snapshot_destroy(now_snapshot);
	snapshot_destroy(base_snapshot);
	return error;
}

struct xtop_error *comparison_print(struct comparison *comparison, struct pipelines *pipelines,
				    FILE *file)
{
	struct pipeline *now = pipelines_first(pipelines);
	struct xtop_error *error;

	pipelines_wait_for_end(now);
	if (!comparison->read)
		pipelines_wait_for_end(comparison->base);
	error = error_first(pipelines_stop(pipelines), comparison_stop(comparison));
	if (!error)
		error = comparison_print_pipelines(now, comparison->base, comparison->options,
						   file);
	return error_first(error, pipeline_get_failure(comparison->base));
}
