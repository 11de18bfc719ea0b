/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes since the baseline: self shares then and now, their difference in points with its
 * interval of 95 %, and their ratio. The largest change comes first. Insignificant differences are
 * dim. Among many rows some differences look large by chance, so the limit for a significant
 * difference is that of --diff. The last line says how many rows are significant.
 *
 * Waits are compared by site, because the scheduler is innermost in all their stacks. The variance
 * of their shares is unknown: tasks wait together, so that looks at them are no independent
 * samples. Filter, restriction and hiding apply to both pictures.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "ui/views/view_table.h"
#include "xtop/query/diff.h"
#include "xtop/query/waits.h"

#define BASELINE_NOTE_ROWS 6 /* rows of the view from which on there is a last line */

static const enum column_id baseline_columns[] = { COLUMN_BASE,  COLUMN_NOW,      COLUMN_DELTA,
						   COLUMN_RATIO, COLUMN_INTERVAL, COLUMN_SYMBOL,
						   COLUMN_MODULE };
#define N_BASELINE_COLUMNS (sizeof(baseline_columns) / sizeof(baseline_columns[0]))

struct view_baseline {
	struct view view;
	struct list list;
	struct function_table now, base;
	const struct column *sort;
	struct table table;
	bool current;
	int first_row;
	double limit;
	size_t n_known, n_changed;
};

static struct view_baseline *view_baseline(struct view *view)
{
	return (struct view_baseline *)view;
}

static struct column_context baseline_context(const struct view_baseline *baseline,
					      const struct ui_model *model)
{
	return (struct column_context){ .snapshot = model->snapshot,
					.table = &baseline->now,
					.truncated_last = true,
					.totals = model->shares.totals,
					.addresses = model->names.addresses,
					.raw_names = model->names.raw,
					.base = &baseline->base,
					.base_snapshot = model->baseline,
					.limit = baseline->limit };
}

/* --- update ----------------------------------------------------------------------------------- */

static struct xtop_error *baseline_build(const struct ui_model *model, const struct snapshot *from,
					 struct function_table *table)
{
	struct snapshot sites;
	struct xtop_error *error;

	if (!model->snapshot || !model->snapshot->waits)
		return functions_build(from, NULL, model->names.addresses, table);
	error = waits_weigh_sites(from, &sites);
	if (error)
		return error;
	error = functions_build(&sites, NULL, model->names.addresses, table);
	free(sites.nodes);
	return error;
}

static struct xtop_error *baseline_build_base(struct view_baseline *baseline,
					      const struct ui_model *model)
{
	struct snapshot selected;
	struct xtop_error *error = selection_apply(model->selection, model->baseline, &selected);

	if (error)
		return error;
	error = baseline_build(model, &selected, &baseline->base);
	if (!error)
		baseline->base.whole = model_whole(model, &selected, model->baseline);
	selection_deinit(&selected, model->baseline);
	return error;
}

static bool baseline_has_self(const struct weights *weights)
{
	return weights->self_total || weights->self_ticks > 0;
}

/* Leaves out functions without samples and without time of their own in both pictures. */
static void baseline_drop_idle(struct view_baseline *baseline)
{
	size_t n = 0;

	for (size_t i = 0; i < baseline->now.n; i++) {
		const struct function_row *now = &baseline->now.rows[i];

		if (baseline_has_self(&now->weights) ||
		    (now->base &&
		     baseline_has_self(&baseline->base.rows[now->base - 1].weights)))
			baseline->now.rows[n++] = *now;
	}
	baseline->now.n = n;
}

static struct xtop_error *baseline_update(struct view *view, const struct ui_model *model)
{
	struct view_baseline *baseline = view_baseline(view);
	struct column_context context = baseline_context(baseline, model);
	struct xtop_error *error;

	functions_deinit(&baseline->now);
	functions_deinit(&baseline->base);
	baseline->current = false;
	if (!model->baseline)
		return NULL;
	error = baseline_build_base(baseline, model);
	if (!error)
		error = baseline_build(model, model->snapshot, &baseline->now);
	if (!error)
		error = functions_join(&baseline->now, &baseline->base);
	if (!error) {
		baseline->now.whole = model->whole;
		baseline_drop_idle(baseline);
		columns_sort(&context, baseline->sort, baseline->now.rows, baseline->now.n);
		error = columns_judge(&context, baseline->now.rows, baseline->now.n,
				      &baseline->limit, &baseline->n_known, &baseline->n_changed);
		baseline->current = !error;
	}
	list_update(&baseline->list, baseline->now.n, view_function_key, &baseline->now);
	return error;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static const struct function_row *baseline_function_at(const void *rows, size_t index)
{
	return &((const struct view_baseline *)rows)->now.rows[index];
}

static void baseline_draw_note(const struct view_baseline *baseline, bool waits,
			       struct canvas *canvas, int row)
{
	char text[160];

	if (baseline->n_known)
		snprintf(text, sizeof(text),
			 "%zu of %zu differ significantly (Benjamini-Hochberg: at most %g %% by "
			 "chance)",
			 baseline->n_changed, baseline->now.n, 100 * DIFF_FALSE_DISCOVERIES);
	else
		snprintf(text, sizeof(text), "%s",
			 waits ? "the variance of waits is not known: no change is called "
				 "significant"
			       : "too few seconds to tell changes from chance");
	canvas_put(canvas, row, 1, canvas_columns(canvas) - 2, STYLE_DIM, text);
}

static void baseline_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			  struct area area)
{
	struct view_baseline *baseline = view_baseline(view);
	struct column_context context = baseline_context(baseline, model);
	bool has_note = area.rows >= BASELINE_NOTE_ROWS;
	size_t page = area.rows > 1 ? (size_t)area.rows - 1 - has_note : 0, last;
	const struct table_choice choice = { .ids = baseline_columns, .n = N_BASELINE_COLUMNS };
	struct table_lines rows = { .context = baseline, .function_at = baseline_function_at };

	baseline->first_row = area.row + 1;
	if (!model->snapshot || !baseline->current || !baseline->now.n) {
		view_draw_empty(model, canvas, area);
		return;
	}
	list_show(&baseline->list, page);
	last = baseline->list.top + page < baseline->now.n ? baseline->list.top + page
							   : baseline->now.n;
	rows.first = baseline->list.top;
	rows.end = last;
	table_place(&baseline->table, &context, &choice, &rows, area.columns);
	table_draw_header(&baseline->table, baseline->sort, canvas, area.row);
	for (size_t i = baseline->list.top; i < last; i++) {
		int row = baseline->first_row + (int)(i - baseline->list.top);

		table_draw_row(&baseline->table, model, &context, canvas, row,
			       &baseline->now.rows[i]);
		if (i == baseline->list.selected)
			view_mark_row(canvas, row, 0, area.columns);
	}
	if (has_note)
		baseline_draw_note(baseline, model->snapshot->waits != NULL, canvas,
				   area.row + area.rows - 1);
}

/* --- requests --------------------------------------------------------------------------------- */

static struct request baseline_sort(struct view_baseline *baseline, const struct column *column)
{
	baseline->sort = column;
	return request_of(REQUEST_UPDATE);
}

static struct request baseline_handle(struct view *view, const struct ui_model *model,
				      struct request request)
{
	struct view_baseline *baseline = view_baseline(view);

	switch ((int)request.code) {
	case REQUEST_ANNOTATE:
		return view_annotation_of(view_selected(&baseline->list, NULL));
	case REQUEST_SORT_LEFT:
		return baseline_sort(baseline,
				     table_next_column(&baseline->table, baseline->sort, -1));
	case REQUEST_SORT_RIGHT:
	case REQUEST_SORT_NEXT:
		return baseline_sort(baseline,
				     table_next_column(&baseline->table, baseline->sort, 1));
	default:
		return view_handle_list(&baseline->list, model, request, NULL);
	}
}

static struct request baseline_click(struct view *view, const struct ui_model *model, int row,
				     int column)
{
	struct view_baseline *baseline = view_baseline(view);
	const struct column *sort = table_column_at(&baseline->table, column);

	(void)model;
	if (row == baseline->first_row - 1)
		return sort ? baseline_sort(baseline, sort) : request_of(REQUEST_NONE);
	return view_click_list(&baseline->list, row - baseline->first_row, NULL);
}

static void baseline_init(struct view *view, const struct view *below, uint32_t frame)
{
	(void)below;
	(void)frame;
	view_baseline(view)->sort = &columns[COLUMN_DELTA];
}

static void baseline_deinit(struct view *view)
{
	struct view_baseline *baseline = view_baseline(view);

	functions_deinit(&baseline->now);
	functions_deinit(&baseline->base);
}

const struct view_ops baseline_ops = {
	.name = "the comparison with the baseline",
	.size = sizeof(struct view_baseline),
	.traits = VIEW_GUEST | VIEW_FUNCTIONS | VIEW_OPENS_CALLERS | VIEW_SEARCHED |
		  VIEW_COLUMNS | VIEW_BACK_BY_LEFT,
	.needs = VIEW_NEEDS_BASELINE,
	.opener = { KEYS_COMPARE, { 'b' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .names = "b B", .help = "baseline: compare; forget", .opens = &baseline_ops },
	.init = baseline_init,
	.update = baseline_update,
	.draw = baseline_draw,
	.handle = baseline_handle,
	.click = baseline_click,
	.deinit = baseline_deinit,
};
