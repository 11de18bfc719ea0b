/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What changed since the baseline: self shares then and now, their difference in points, their
 * ratio; the largest change first. What is left out of the present picture is left out of the
 * baseline, too.
 */
#include "config.h"

#include <stdlib.h>

#include "ui/views/table.h"

static const enum column_id baseline_columns[] = { COLUMN_BASE,  COLUMN_NOW,    COLUMN_DELTA,
						   COLUMN_RATIO, COLUMN_SYMBOL, COLUMN_MODULE };
#define N_BASELINE_COLUMNS (sizeof(baseline_columns) / sizeof(baseline_columns[0]))

struct view_baseline {
	struct view view;
	struct list list;
	struct function_table now, base;
	const struct column *sort;
	struct table table;
	bool current;
	int first_row;
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
					.totals = model->totals,
					.addresses = model->addresses,
					.raw_names = model->raw_names,
					.base = &baseline->base };
}

/* --- update ----------------------------------------------------------------------------------- */

static struct xtop_error *baseline_build_base(struct view_baseline *baseline,
					      const struct ui_model *model)
{
	struct snapshot selected;
	struct xtop_error *error = selection_apply(model->selection, model->baseline, &selected);

	if (error)
		return error;
	error = functions_build(&selected, NULL, model->addresses, &baseline->base);
	if (!error && !model->of_filtered) /* then 100 % is as much as of the present picture */
		baseline->base.whole = weights_of(&model->baseline->nodes[0]);
	selection_release(&selected, model->baseline);
	return error;
}

/* Functions that took nothing themselves, neither then nor now, did not change. */
static void baseline_drop_idle(struct view_baseline *baseline)
{
	size_t n = 0;

	for (size_t i = 0; i < baseline->now.n; i++) {
		const struct function_row *now = &baseline->now.rows[i];

		if (now->weights.self_total ||
		    (now->base && baseline->base.rows[now->base - 1].weights.self_total))
			baseline->now.rows[n++] = *now;
	}
	baseline->now.n = n;
}

static void baseline_settle(struct view_baseline *baseline)
{
	size_t found = 0;

	while (baseline->list.moved && found < baseline->now.n &&
	       baseline->now.rows[found].frame != baseline->list.key)
		found++;
	list_settle(&baseline->list, baseline->now.n, found);
	if (baseline->now.n)
		baseline->list.key = baseline->now.rows[baseline->list.selected].frame;
}

static struct xtop_error *baseline_update(struct view *view, const struct ui_model *model)
{
	struct view_baseline *baseline = view_baseline(view);
	struct column_context context = baseline_context(baseline, model);
	struct xtop_error *error;

	functions_free(&baseline->now);
	functions_free(&baseline->base);
	baseline->current = false;
	if (!model->baseline)
		return NULL;
	error = baseline_build_base(baseline, model);
	if (!error)
		error = functions_build(model->snapshot, NULL, model->addresses, &baseline->now);
	if (!error)
		error = functions_join(&baseline->now, &baseline->base);
	if (!error) {
		baseline->now.whole = model->whole;
		baseline_drop_idle(baseline);
		columns_sort(&context, baseline->sort, baseline->now.rows, baseline->now.n);
		baseline->current = true;
	}
	baseline_settle(baseline);
	return error;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static const struct function_row *baseline_function_at(const void *rows, size_t index)
{
	return &((const struct view_baseline *)rows)->now.rows[index];
}

static void baseline_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			  struct area area)
{
	struct view_baseline *baseline = view_baseline(view);
	struct column_context context = baseline_context(baseline, model);
	size_t page = area.rows > 1 ? (size_t)area.rows - 1 : 0, last;

	baseline->first_row = area.row + 1;
	if (!model->snapshot || !baseline->current || !baseline->now.n) {
		view_draw_empty(model, canvas, area);
		return;
	}
	list_show(&baseline->list, page);
	last = baseline->list.top + page < baseline->now.n ? baseline->list.top + page
							   : baseline->now.n;
	table_place(&baseline->table, &context, baseline_columns, N_BASELINE_COLUMNS, false,
		    area.columns, baseline, baseline_function_at, baseline->list.top, last);
	table_draw_header(&baseline->table, baseline->sort, canvas, area.row);
	for (size_t i = baseline->list.top; i < last; i++) {
		int row = baseline->first_row + (int)(i - baseline->list.top);

		table_draw_row(&baseline->table, model, &context, canvas, row,
			       &baseline->now.rows[i]);
		if (i == baseline->list.selected)
			view_mark_row(canvas, row, 0, area.columns);
	}
}

/* --- requests --------------------------------------------------------------------------------- */

static void baseline_sort_by(struct view_baseline *baseline, struct ui *ui,
			     const struct column *column)
{
	baseline->sort = column;
	ui_update(ui);
}

static void baseline_open(const struct view_baseline *baseline, struct ui *ui)
{
	if (baseline->now.n)
		ui_push(ui, view_callers_create(baseline->now.rows[baseline->list.selected].frame));
}

struct baseline_search {
	const struct function_table *table;
	const struct ui_model *model;
};

static bool baseline_matches(const void *context, size_t index)
{
	const struct baseline_search *search = context;

	return view_matches(search->model, search->table->rows[index].frame);
}

static bool baseline_request(struct view *view, struct ui *ui, enum request request)
{
	struct view_baseline *baseline = view_baseline(view);
	struct baseline_search search = { &baseline->now, &ui->model };
	bool done = list_request(&baseline->list, request);

	if (request >= REQUEST_SEARCH_HERE && request <= REQUEST_SEARCH_PREVIOUS)
		done = ui->search &&
		       list_search(&baseline->list, request, baseline_matches, &search);
	if (done && baseline->now.n)
		baseline->list.key = baseline->now.rows[baseline->list.selected].frame;
	switch ((int)request) {
	case REQUEST_OPEN:
		baseline_open(baseline, ui);
		return true;
	case REQUEST_SORT_LEFT:
		baseline_sort_by(baseline, ui,
				 table_next_column(&baseline->table, baseline->sort, -1));
		return true;
	case REQUEST_SORT_RIGHT:
	case REQUEST_SORT_NEXT:
		baseline_sort_by(baseline, ui,
				 table_next_column(&baseline->table, baseline->sort, 1));
		return true;
	default:
		return done;
	}
}

/* A click on the row that is selected opens it. */
static void baseline_click(struct view *view, struct ui *ui, int row, int column)
{
	struct view_baseline *baseline = view_baseline(view);
	const struct column *sort = table_column_at(&baseline->table, column);
	enum list_click click = list_click(&baseline->list, row - baseline->first_row);

	if (row == baseline->first_row - 1 && sort)
		baseline_sort_by(baseline, ui, sort);
	if (click == LIST_OPENED)
		baseline_open(baseline, ui);
	else if (click == LIST_SELECTED)
		baseline->list.key = baseline->now.rows[baseline->list.selected].frame;
}

static void baseline_destroy(struct view *view)
{
	struct view_baseline *baseline = view_baseline(view);

	functions_free(&baseline->now);
	functions_free(&baseline->base);
	free(baseline);
}

static const struct view_ops baseline_ops = {
	.mask = VIEW_BASELINE,
	.name = "the comparison with the baseline",
	.update = baseline_update,
	.draw = baseline_draw,
	.request = baseline_request,
	.click = baseline_click,
	.destroy = baseline_destroy,
};

struct view *view_baseline_create(void)
{
	struct view_baseline *baseline = calloc(1, sizeof(*baseline));

	if (!baseline)
		return NULL;
	baseline->view.ops = &baseline_ops;
	baseline->sort = &columns[COLUMN_DELTA];
	return &baseline->view;
}
