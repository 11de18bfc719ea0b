/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of --diff as one JSON object on one line, for scripts (doc/FORMATS, and the schema
 * doc/diff.schema.json). It has the figures that diff_table.c prints, not rounded. Main's thread.
 */
#include "config.h"

#include <math.h>

#include "export/json.h"
#include "export/table_rows.h"

#define DIFF_JSON_VERSION 1

static void diff_put_side(struct json *json, const char *which, const char *name,
			  const struct diff_side *side, double cpu)
{
	json_open(json, which, '{');
	json_text(json, "name", name);
	json_u64(json, "samples", side->snapshot->resolver.samples);
	json_double(json, "elapsed_s", side->seconds > 0 ? side->seconds : NAN);
	json_double(json, "busy_vcpus", cpu);
	json_close(json, '}');
}

static const char *diff_intervals(const struct diff_side *now, const struct diff_side *base)
{
	if (now->batches && base->batches)
		return "batches";
	return now->batches || base->batches ? "batches of one" : "independent";
}

static void diff_put_row(struct json *json, const struct diff_row *row)
{
	json_open(json, NULL, '{');
	json_double(json, "old", 100 * row->base);
	json_double(json, "new", 100 * row->now);
	json_double(json, "delta", 100 * (row->now - row->base));
	json_double(json, "low", row->known ? 100 * row->low : NAN);
	json_double(json, "high", row->known ? 100 * row->high : NAN);
	json_bool(json, "significant", row->significant);
	json_bool(json, "in_old", row->in_base);
	json_bool(json, "in_new", row->in_now);
	json_double(json, "old_vcpus", row->base_cpu);
	json_double(json, "new_vcpus", row->now_cpu);
	json_text(json, "symbol", row->frame->name);
	json_text(json, "kind", table_kind(row->frame->kind));
	json_text(json, "module", row->frame->module);
	json_close(json, '}');
}

void export_diff_json(const struct diff_side *now, const struct diff_side *base,
		      const struct diff *diff, const struct diff_table_options *options, FILE *file)
{
	struct json json = { .file = file, .compact = true };
	size_t n = options->all_rows ? diff->n : diff->n_significant;

	json_open(&json, NULL, '{');
	json_u64(&json, "version", DIFF_JSON_VERSION);
	diff_put_side(&json, "old", options->base_name, base, diff->base_cpu);
	diff_put_side(&json, "new", options->now_name, now, diff->now_cpu);
	json_text(&json, "share", options->children ? "children" : "self");
	json_u64(&json, "compared", diff->n);
	json_u64(&json, "significant", diff->n_significant);
	json_double(&json, "false_discoveries", 100 * DIFF_FALSE_DISCOVERIES);
	json_text(&json, "intervals", diff_intervals(now, base));
	json_bool(&json, "over", options->over);
	json_open(&json, "functions", '[');
	for (size_t i = 0; i < n; i++)
		diff_put_row(&json, &diff->rows[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	putc('\n', file);
}
