/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of batch mode as one JSON object on one line, for scripts (doc/FORMATS, and the schema
 * doc/table.schema.json). It has the figures that table.c prints, not rounded. Main's thread.
 */
#include "config.h"

#include <math.h>

#include "export/json.h"
#include "export/table_rows.h"
#include "export/host_json.h"

#define TABLE_JSON_VERSION 1

static double table_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* Puts how far the true share may be from the row's: null if too few samples tell. */
static void table_put_margin(struct json *json, const char *name,
			     const struct column_context *context, const struct function_row *row,
			     bool self)
{
	double margin = NAN;

	column_find_margin(context, row, self, &margin);
	json_double(json, name, margin);
}

static void table_put_row(struct json *json, const struct column_context *context,
			  const struct function_row *row)
{
	const struct frames *frames = context->snapshot->frames;
	const struct frame *frame = frames_get(frames, row->frame);
	const struct weights *whole = &context->table->whole;
	char name[FRAME_NAME_BYTES];

	json_open(json, NULL, '{');
	json_double(json, "children",
		    context->totals
			    ? table_percent(row->weights.children_ticks, whole->children_ticks)
			    : table_percent(row->weights.children_live, whole->children_live));
	json_double(json, "self",
		    context->totals
			    ? table_percent(row->weights.self_ticks, whole->children_ticks)
			    : table_percent(row->weights.self_live, whole->children_live));
	table_put_margin(json, "children_margin", context, row, false);
	table_put_margin(json, "self_margin", context, row, true);
	json_u64(json, "samples", row->weights.children_total);
	json_text(json, "symbol", functions_name(frames, row, context->addresses, name));
	json_text(json, "kind", table_kind(frame->kind));
	json_text(json, "module", frame->module);
	json_text(json, "process",
		    row->process == FRAME_NONE ? "" : frames_get(frames, row->process)->name);
	json_u64(json, "processes", row->n_processes);
	if (context->snapshot->sources) {
		char source[COLUMN_CELL_BYTES];

		columns[COLUMN_SOURCE].entry(context, row, source, sizeof(source));
		json_text(json, "source", source);
	}
	json_close(json, '}');
}

/* Puts the time of the table, which is unknown for a profile file. */
static void table_put_time(struct json *json, const struct snapshot *snapshot,
			   enum clock_kind clock)
{
	uint64_t time_ns;
	bool known = snapshot->run &&
		     clocks_convert(&snapshot->clocks, clock, snapshot->time_ns, &time_ns);

	json_text(json, "clock", clocks_name(clock));
	if (known)
		json_u64(json, "time_us", time_ns / 1000);
	else
		json_double(json, "time_us", NAN); /* null */
}

static void table_put_head(struct json *json, const struct snapshot *snapshot,
			   const struct table_options *options)
{
	const struct sampler_counts *sampler = &snapshot_get_run(snapshot)->sampler;
	const struct resolver_counts *resolver = &snapshot->resolver;
	uint64_t elapsed_ns = snapshot->started_ns ? snapshot->time_ns - snapshot->started_ns : 0;

	json_u64(json, "version", TABLE_JSON_VERSION);
	json_text(json, "title", options->title);
	json_u64(json, "samples", resolver->samples);
	json_double(json, "samples_worth",
		    options->totals ? snapshot->worth_total.samples : snapshot->worth_live.samples);
	json_double(json, "elapsed_s", (double)elapsed_ns / 1e9);
	table_put_time(json, snapshot, options->clock);
	json_double(json, "rate_asked_hz", sampler->rate_asked_hz);
	json_double(json, "rate_reached_hz",
		    sampler->elapsed_ns
			    ? (double)sampler->samples * 1e9 / (double)sampler->elapsed_ns
			    : 0);
	json_double(json, "stopped", 100 * sampler->stopped_share);
	json_u64(json, "lost", sampler->lost);
	json_u64(json, "missed", sampler->missed);
	json_u64(json, "given_up", sampler->given_up);
	json_u64(json, "refused", sampler->refused);
	json_double(json, "unknown", table_percent(resolver->weight_unknown, resolver->weight));
	json_double(json, "truncated", table_percent(resolver->weight_truncated, resolver->weight));
	json_text(json, "filter", options->filter ? filter_text(options->filter) : "");
	json_text(json, "sort", options->sort->name);
}

struct xtop_error *export_table_json(const struct snapshot *snapshot,
				     const struct table_options *options, FILE *file)
{
	struct json json = { .file = file, .compact = true };
	struct table_rows rows;
	struct xtop_error *error = table_rows_init(&rows, snapshot, options);

	if (error)
		return error;
	json_open(&json, NULL, '{');
	table_put_head(&json, snapshot, options);
	json_open(&json, "functions", '[');
	for (size_t i = 0; i < rows.n; i++)
		table_put_row(&json, &rows.context, &rows.table.rows[i]);
	json_close(&json, ']');
	if (snapshot_get_run(snapshot)->takers)
		takers_put_json(&json, snapshot_get_run(snapshot)->takers, options->totals);
	if (snapshot_get_run(snapshot)->exits)
		exits_put_json(&json, snapshot, options->totals);
	json_close(&json, '}');
	putc('\n', file);
	table_rows_deinit(&rows);
	return NULL;
}
