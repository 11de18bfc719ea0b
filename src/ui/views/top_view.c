/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The top view: one row for each function, sorted by a column, with hot ones coloured. Below an
 * unfolded row is the tree of the function's callers. The view draws a list of lines: functions,
 * and lines of trees.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ui/views/branch.h"
#include "ui/views/view_table.h"

#define TOP_MAX_UNFOLDED   32
#define TOP_UNFOLD_LINES   64
#define TOP_UNFOLD_FORKS   12
#define TOP_UNFOLD_PERCENT 0.5 /* smaller branches share one line */

/* Columns in this order. The table of columns says from which width on each is shown. */
static const enum column_id top_columns[] = { COLUMN_CHILDREN, COLUMN_SELF,    COLUMN_MARGIN,
					      COLUMN_HISTORY,  COLUMN_SAMPLES, COLUMN_PROCESS,
					      COLUMN_SYMBOL,   COLUMN_MODULE,  COLUMN_SOURCE };

struct top_line {
	uint32_t row;     /* index in functions.rows */
	int32_t branch;   /* line of the tree of callers; negative: the function itself */
	int32_t unfolded; /* index in view_top.unfolded; negative: the row is folded */
};

struct view_top {
	struct view view;
	struct list list;
	struct function_table functions;
	struct top_line *lines;
	size_t n_lines;
	uint32_t unfolded[TOP_MAX_UNFOLDED];           /* frames of unfolded rows */
	struct call_tree unfoldings[TOP_MAX_UNFOLDED]; /* trees of their callers */
	size_t n_unfolded;
	bool current; /* the lines were built */
	struct table table;
	int first_row;
};

static struct view_top *view_top(struct view *view)
{
	return (struct view_top *)view;
}

static struct column_context top_context(const struct view_top *top, const struct ui_model *model)
{
	return (struct column_context){ .snapshot = model->snapshot,
					.table = &top->functions,
					.truncated_last = true,
					.totals = model->shares.totals,
					.addresses = model->names.addresses,
					.raw_names = model->names.raw,
					.self_margin = model->sort->id == COLUMN_SELF,
					.history = model->all && !model->all->run
							   ? NULL
							   : model->history };
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Keys of functions have 32 bits, keys of branches 64, so that they are hardly ever equal. */
static uint64_t top_key(const void *context, size_t index)
{
	const struct view_top *top = context;
	const struct top_line *line = index < top->n_lines ? &top->lines[index] : NULL;

	if (!line)
		return FRAME_NONE;
	return line->branch < 0 ? top->functions.rows[line->row].frame
				: top->unfoldings[line->unfolded].lines[line->branch].key;
}

static int32_t top_find_unfolded(const struct view_top *top, uint32_t frame)
{
	for (size_t i = 0; i < top->n_unfolded; i++)
		if (top->unfolded[i] == frame)
			return (int32_t)i;
	return -1;
}

static void top_free_lines(struct view_top *top)
{
	for (size_t i = 0; i < TOP_MAX_UNFOLDED; i++)
		call_tree_deinit(&top->unfoldings[i]);
	free(top->lines);
	top->lines = NULL;
	top->n_lines = 0;
}

static struct xtop_error *top_build_unfoldings(struct view_top *top, const struct ui_model *model)
{
	struct call_tree_settings settings = { .kind = CALL_TREE_CALLERS,
					       .totals = model->shares.totals,
					       .addresses = model->names.addresses,
					       .threshold = TOP_UNFOLD_PERCENT / 100,
					       .max_lines = TOP_UNFOLD_LINES,
					       .max_forks = TOP_UNFOLD_FORKS };
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < top->n_unfolded && !error; i++) {
		settings.frame = top->unfolded[i];
		error = call_tree_build(model->folded, &settings, &top->unfoldings[i]);
	}
	return error;
}

static struct xtop_error *top_build_lines(struct view_top *top, const struct ui_model *model)
{
	struct xtop_error *error;
	size_t n = top->functions.n;

	top_free_lines(top);
	error = top_build_unfoldings(top, model);
	if (error)
		return error;
	for (size_t i = 0; i < top->n_unfolded; i++)
		n += top->unfoldings[i].n;
	top->lines = calloc(n + 1, sizeof(*top->lines));
	if (!top->lines)
		return error_create("out of memory");
	for (uint32_t row = 0; row < top->functions.n; row++) {
		int32_t unfolded = top_find_unfolded(top, top->functions.rows[row].frame);
		size_t branches = unfolded < 0 ? 0 : top->unfoldings[unfolded].n;

		top->lines[top->n_lines++] = (struct top_line){ row, -1, unfolded };
		for (size_t i = 0; i < branches; i++)
			top->lines[top->n_lines++] = (struct top_line){ row, (int32_t)i, unfolded };
	}
	return NULL;
}

static struct xtop_error *top_update(struct view *view, const struct ui_model *model)
{
	struct view_top *top = view_top(view);
	struct column_context context = top_context(top, model);
	struct xtop_error *error;

	top_free_lines(top);
	functions_deinit(&top->functions);
	memset(&top->functions, 0, sizeof(top->functions));
	error = functions_build(model->folded, NULL, model->names.addresses, &top->functions);
	if (!error) {
		top->functions.whole = model->whole;
		columns_sort(&context, model->sort, top->functions.rows, top->functions.n);
		error = top_build_lines(top, model);
	}
	top->current = !error;
	list_update(&top->list, top->n_lines, top_key, top);
	return error;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static const struct function_row *top_function_at(const void *rows, size_t index)
{
	const struct view_top *top = rows;
	const struct top_line *line = &top->lines[index];

	return line->branch < 0 ? &top->functions.rows[line->row] : NULL;
}

/* A slow line shows no history, which would be most bytes of a refresh. */
static size_t top_default_columns(const struct ui_model *model, enum column_id ids[N_COLUMNS])
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(top_columns) / sizeof(top_columns[0]); i++)
		if ((top_columns[i] != COLUMN_HISTORY || !model->screen.is_slow) &&
		    (top_columns[i] != COLUMN_MARGIN || model->shares.margins))
			ids[n++] = top_columns[i];
	return n;
}

static void top_place_columns(struct view_top *top, const struct ui_model *model,
			      struct column_context *context, int columns_, size_t page)
{
	size_t last = top->list.top + page < top->n_lines ? top->list.top + page : top->n_lines;
	bool chosen = model->rc->n_columns > 0;
	enum column_id ids[N_COLUMNS];
	size_t n = top_default_columns(model, ids);
	const struct table_choice choice = { .ids = chosen ? model->rc->columns : ids,
					     .n = chosen ? model->rc->n_columns : n,
					     .by_user = chosen };
	const struct table_lines rows = { top, top_function_at, top->list.top, last };

	table_place(&top->table, context, &choice, &rows, columns_);
}

/* Trees begin below the symbols; on a narrow screen further left, to leave room for names. */
static int top_tree_column(const struct view_top *top, int columns_)
{
	int at = table_column_place(&top->table, COLUMN_SYMBOL);

	return at < 0 || columns_ < 60 ? 3 : at > columns_ / 2 ? columns_ / 4 : at;
}

static void top_draw_line(const struct view_top *top, const struct ui_model *model,
			  const struct column_context *context, struct canvas *canvas, int row,
			  size_t index)
{
	const struct top_line *line = &top->lines[index];

	if (line->branch < 0) {
		table_draw_row(&top->table, model, context, canvas, row,
			       &top->functions.rows[line->row]);
	} else {
		const struct call_tree *tree = &top->unfoldings[line->unfolded];
		int at = top_tree_column(top, canvas_columns(canvas));

		branch_draw_share(model, &tree->lines[line->branch], &tree->whole, canvas, row, at);
	}
	if (index == top->list.selected)
		view_mark_row(canvas, row, 0, canvas_columns(canvas));
}

static void top_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		     struct area area)
{
	struct view_top *top = view_top(view);
	struct column_context context = top_context(top, model);
	size_t page = area.rows > 1 ? (size_t)area.rows - 1 : 0;

	top->first_row = area.row + 1;
	if (!model->snapshot || !top->current || !top->n_lines) {
		view_draw_empty(model, canvas, area);
		return;
	}
	list_show(&top->list, page);
	top_place_columns(top, model, &context, area.columns, page);
	table_draw_header(&top->table, model->sort, canvas, area.row);
	for (size_t i = 0; i < page && top->list.top + i < top->n_lines; i++)
		top_draw_line(top, model, &context, canvas, top->first_row + (int)i,
			      top->list.top + i);
}

/* --- requests --------------------------------------------------------------------------------- */

static const struct top_line *top_selected(const struct view_top *top)
{
	return top->n_lines ? &top->lines[top->list.selected] : NULL;
}

static uint32_t top_frame(const void *context, size_t index)
{
	const struct view_top *top = context;
	const struct top_line *line = &top->lines[index];

	return line->branch < 0 ? top->functions.rows[line->row].frame
				: top->unfoldings[line->unfolded].lines[line->branch].frame;
}

/* Folds the row of the selected line, and selects that row. */
static void top_fold(struct view_top *top)
{
	const struct top_line *line = top_selected(top);
	size_t row = top->list.selected;

	while (row && top->lines[row].branch >= 0)
		row--;
	list_select(&top->list, row);
	top->n_unfolded--;
	top->unfolded[line->unfolded] = top->unfolded[top->n_unfolded];
}

/* Builds the lines without REQUEST_UPDATE, to find out whether there are callers. */
static struct request top_unfold(struct view_top *top, const struct ui_model *model)
{
	const struct top_line *line = top_selected(top);
	struct xtop_error *error;

	if (top->n_unfolded == TOP_MAX_UNFOLDED)
		return view_message("%d rows are unfolded: fold some (-), or all (C)",
				    TOP_MAX_UNFOLDED);
	top->unfolded[top->n_unfolded++] = top->functions.rows[line->row].frame;
	list_select(&top->list, top->list.selected);
	error = top_build_lines(top, model);
	list_update(&top->list, top->n_lines, top_key, top);
	if (error) {
		error_destroy(error);
		return request_of(REQUEST_UPDATE); /* fails again, and reports why */
	}
	return top->unfoldings[top->n_unfolded - 1].n ? request_of(REQUEST_NONE)
						      : view_message("nobody calls it");
}

/* Folds the selected line if it is unfolded. Otherwise unfolds it if UNFOLD is set. */
static struct request top_toggle(struct view_top *top, const struct ui_model *model, bool unfold)
{
	const struct top_line *line = top_selected(top);

	if (!line || !model->snapshot)
		return request_of(REQUEST_NONE);
	if (line->unfolded < 0)
		return unfold ? top_unfold(top, model) : request_of(REQUEST_NONE);
	top_fold(top);
	return request_of(REQUEST_UPDATE);
}

static struct request top_fold_all(struct view_top *top)
{
	const struct top_line *line = top_selected(top);

	if (line)
		top->list.key = top->functions.rows[line->row].frame;
	top->n_unfolded = 0;
	return request_of(REQUEST_UPDATE);
}

static struct request top_sort(const struct column *column)
{
	return (struct request){ .code = REQUEST_SORT, .column = column };
}

static struct request top_handle(struct view *view, const struct ui_model *model,
				 struct request request)
{
	struct view_top *top = view_top(view);

	switch ((int)request.code) {
	case REQUEST_ANNOTATE:
		return view_annotation_of(view_selected(&top->list, top_frame));
	case REQUEST_UNFOLD:
		return top_toggle(top, model, true);
	case REQUEST_FOLD:
		return top_toggle(top, model, false);
	case REQUEST_FOLD_ALL:
		return top_fold_all(top);
	case REQUEST_SORT_LEFT:
		return top_sort(table_next_column(&top->table, model->sort, -1));
	case REQUEST_SORT_RIGHT:
	case REQUEST_SORT_NEXT:
		return top_sort(table_next_column(&top->table, model->sort, 1));
	default:
		return view_handle_list(&top->list, model, request, top_frame);
	}
}

static struct request top_click(struct view *view, const struct ui_model *model, int row,
				int column)
{
	struct view_top *top = view_top(view);
	const struct column *sort = table_column_at(&top->table, column);

	(void)model;
	if (row == top->first_row - 1)
		return sort ? top_sort(sort) : request_of(REQUEST_NONE);
	return view_click_list(&top->list, row - top->first_row, top_frame);
}

static void top_deinit(struct view *view)
{
	struct view_top *top = view_top(view);

	top_free_lines(top);
	functions_deinit(&top->functions);
}

/* clang-format off */
static const struct key top_keys[] = {
	{ KEYS_UNFOLD, { '+', '=', 'e' }, .request = REQUEST_UNFOLD,
	  .names = "+ e", .help = "show who calls it, or not" },
	{ KEYS_UNFOLD, { '-', 'c' }, .request = REQUEST_FOLD,
	  .names = "- c C", .help = "hide that; C: all" },
	{ KEYS_UNFOLD, { 'C' }, .request = REQUEST_FOLD_ALL },
	{ KEYS_SHOW, { 'A' }, .request = REQUEST_TOTALS,
	  .names = "A u", .help = "since start; how sure" },
	{ KEYS_SHOW, { 'u' }, .request = REQUEST_MARGINS },
	{ KEYS_COMPARE, { '1' }, .request = REQUEST_SORT_SELF,
	  .names = "1 2 3 4", .help = "by self, all, count, name" },
	{ KEYS_COMPARE, { '2' }, .request = REQUEST_SORT_CHILDREN },
	{ KEYS_COMPARE, { '3' }, .request = REQUEST_SORT_SAMPLES },
	{ KEYS_COMPARE, { '4' }, .request = REQUEST_SORT_SYMBOL },
};
/* clang-format on */

const struct view_ops top_ops = {
	.name = "the function table",
	.size = sizeof(struct view_top),
	.traits = VIEW_GUEST | VIEW_FUNCTIONS | VIEW_OPENS_CALLERS | VIEW_SEARCHED |
		  VIEW_COLUMNS | VIEW_FOLDS | VIEW_ENDS_SEARCH | VIEW_ENDS_RANGE |
		  VIEW_BACK_BY_ESC,
	.opener = { KEYS_PROFILE, { 'a' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .names = "a", .help = "all functions: the table", .opens = &top_ops },
	.keys = top_keys,
	.n_keys = sizeof(top_keys) / sizeof(top_keys[0]),
	.update = top_update,
	.draw = top_draw,
	.handle = top_handle,
	.click = top_click,
	.deinit = top_deinit,
};
