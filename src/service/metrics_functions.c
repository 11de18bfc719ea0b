/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions become metrics; see metrics_functions.h. */
#include "config.h"

#include "xtop/service/metrics_functions.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/text.h"
#include "xtop/query/functions.h"

/* Copies a name as tables have it. A long name is cut between characters. */
static void metrics_functions_name(const struct snapshot *snapshot, const struct function_row *row,
				   struct metrics_function *function)
{
	const struct frame *frame = frames_get(snapshot->frames, row->frame);

	text_clean_line(function->name, sizeof(function->name), frame->name, strlen(frame->name));
	text_clean_line(function->module, sizeof(function->module), frame->module,
			strlen(frame->module));
}

static struct metrics_function *metrics_functions_find(struct metrics_functions *functions,
						       const struct metrics_function *wanted)
{
	for (size_t i = 0; i < functions->n; i++) {
		struct metrics_function *function = &functions->functions[i];

		if (strcmp(function->name, wanted->name) == 0 &&
		    strcmp(function->module, wanted->module) == 0)
			return function;
	}
	return NULL;
}

/*
 * Finds a free place, or the place of a function that was long not among the top ones. NULL: none.
 */
static struct metrics_function *metrics_functions_place(struct metrics_functions *functions,
							uint64_t now_ns)
{
	if (functions->n < METRICS_MAX_FUNCTIONS)
		return &functions->functions[functions->n++];
	for (size_t i = 0; i < functions->n; i++)
		if (now_ns - functions->top_ns[i] > METRICS_COLLECTOR_KEEP_NS)
			return &functions->functions[i];
	return NULL;
}

static void metrics_functions_add(struct metrics_functions *functions,
				  const struct metrics_function *news, bool top, uint64_t now_ns)
{
	struct metrics_function *function = metrics_functions_find(functions, news);
	double before = function ? function->ratio : 0;

	if (!function && top) {
		function = metrics_functions_place(functions, now_ns);
		if (function)
			*function = *news;
	}
	if (!function) {
		functions->rest += news->ratio;
		return;
	}
	function->ratio = before + news->ratio; /* two names may be equal after they were cut */
	if (top)
		functions->top_ns[function - functions->functions] = now_ns;
}

static int metrics_functions_compare(const void *a, const void *b)
{
	double left = ((const struct function_row *)a)->weights.self_ticks;
	double right = ((const struct function_row *)b)->weights.self_ticks;

	return (left < right) - (left > right);
}

void metrics_functions_update(struct metrics_functions *functions, const struct snapshot *snapshot,
			      uint64_t now_ns)
{
	struct function_table table;
	struct xtop_error *error = functions_build(snapshot, NULL, false, &table);

	if (error) {
		error_destroy(error);
		return;
	}
	qsort(table.rows, table.n, sizeof(*table.rows), metrics_functions_compare);
	functions->rest = 0;
	for (size_t i = 0; i < functions->n; i++)
		functions->functions[i].ratio = 0;
	for (size_t i = 0; i < table.n && table.rows[i].weights.self_ticks > 0; i++) {
		struct metrics_function function = {
			.ratio = table.rows[i].weights.self_ticks / table.whole.children_ticks,
		};

		metrics_functions_name(snapshot, &table.rows[i], &function);
		metrics_functions_add(functions, &function, i < METRICS_COLLECTOR_TOP, now_ns);
	}
	functions_deinit(&table);
}
