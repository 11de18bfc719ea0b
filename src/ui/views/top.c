/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The top view: one row a function, sorted by a column, hot ones coloured; a row can be unfolded to
 * show who calls it. What is drawn is a list of lines: functions, and below the unfolded ones the
 * lines of their tree.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ui/views/branch.h"
#include "ui/views/table.h"
#include "xtop/cleanup.h"

#define TOP_MAX_UNFOLDED   32
#define TOP_UNFOLD_LINES   64
#define TOP_UNFOLD_FORKS   12
#define TOP_UNFOLD_PERCENT 0.5 /* branches below go into one line */

/* What there is room for, in this order; the table of columns says from which width on. */
static const enum column_id top_columns[] = { COLUMN_CHILDREN, COLUMN_SELF,    COLUMN_HISTORY,
					      COLUMN_SAMPLES,  COLUMN_PROCESS, COLUMN_SYMBOL,
					      COLUMN_MODULE };

struct top_line {
	uint32_t row;     /* in functions.rows */
	int32_t branch;   /* line of the unfolding; negative: the function itself */
	int32_t unfolded; /* in view_top.unfolded; negative: it is folded */
};

struct view_top {
	struct view view;
	struct list list;
	struct function_table functions;
	struct top_line *lines;
	size_t n_lines;
	uint32_t unfolded[TOP_MAX_UNFOLDED];           /* frames */
	struct call_tree unfoldings[TOP_MAX_UNFOLDED]; /* of these */
	size_t n_unfolded;
	bool current; /* update() was done */
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
					.totals = model->totals,
					.addresses = model->addresses,
					.raw_names = model->raw_names,
					.history = model->history };
}

/* --- lines ------------------------------------------------------------------------------------ */

static uint64_t top_key(const struct view_top *top, size_t index)
{
	const struct top_line *line = &top->lines[index];

	if (line->branch >= 0)
		return top->unfoldings[line->unfolded].lines[line->branch].key;
	return top->functions.rows[line->row]
		.frame; /* 32 bits: no branch has such a key, but by chance */
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
		call_tree_free(&top->unfoldings[i]);
	free(top->lines);
	top->lines = NULL;
	top->n_lines = 0;
}

static struct xtop_error *top_build_unfoldings(struct view_top *top, const struct ui_model *model)
{
	struct call_tree_settings settings = { .kind = CALL_TREE_CALLERS,
					       .totals = model->totals,
					       .addresses = model->addresses,
					       .threshold = TOP_UNFOLD_PERCENT / 100,
					       .max_lines = TOP_UNFOLD_LINES,
					       .max_forks = TOP_UNFOLD_FORKS };
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < top->n_unfolded && !error; i++) {
		settings.frame = top->unfolded[i];
		error = call_tree_build(model->snapshot, &settings, &top->unfoldings[i]);
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

static void top_settle(struct view_top *top)
{
	size_t found = 0;

	while (top->list.moved && found < top->n_lines && top_key(top, found) != top->list.key)
		found++;
	list_settle(&top->list, top->n_lines, found);
	if (top->n_lines)
		top->list.key = top_key(top, top->list.selected);
}

static struct xtop_error *top_update(struct view *view, const struct ui_model *model)
{
	struct view_top *top = view_top(view);
	struct column_context context = top_context(top, model);
	struct xtop_error *error;

	top_free_lines(top);
	functions_free(&top->functions);
	memset(&top->functions, 0, sizeof(top->functions));
	error = functions_build(model->snapshot, NULL, model->addresses, &top->functions);
	if (!error) {
		top->functions.whole = model->whole;
		columns_sort(&context, model->sort, top->functions.rows, top->functions.n);
		error = top_build_lines(top, model);
	}
	top->current = !error;
	top_settle(top);
	return error;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static const struct function_row *top_function_at(const void *rows, size_t index)
{
	const struct view_top *top = rows;
	const struct top_line *line = &top->lines[index];

	return line->branch < 0 ? &top->functions.rows[line->row] : NULL;
}

/* All of them, or on a slow line those but the history, which is most of what a refresh sends. */
static size_t top_default_columns(const struct ui_model *model, enum column_id ids[N_COLUMNS])
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(top_columns) / sizeof(top_columns[0]); i++)
		if (top_columns[i] != COLUMN_HISTORY || !model->slow_line)
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

	table_place(&top->table, context, chosen ? model->rc->columns : ids,
		    chosen ? model->rc->n_columns : n, chosen, columns_, top, top_function_at,
		    top->list.top, last);
}

/* Trees stand below the symbols; on a narrow screen names need the room more. */
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

		branch_draw_share(model, &tree->lines[line->branch], &tree->whole, canvas, row, at,
				  canvas_columns(canvas) - at);
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

static uint32_t top_selected_frame(const struct view_top *top)
{
	const struct top_line *line = top_selected(top);

	if (!line)
		return FRAME_NONE;
	return line->branch < 0 ? top->functions.rows[line->row].frame
				: top->unfoldings[line->unfolded].lines[line->branch].frame;
}

/* Folding puts the cursor on the function whose branch it stood on. */
static void top_fold(struct view_top *top, struct ui *ui)
{
	const struct top_line *line = top_selected(top);
	uint32_t frame;

	if (!line || line->unfolded < 0)
		return;
	frame = top->unfolded[line->unfolded];
	while (top->list.selected && top->lines[top->list.selected].branch >= 0)
		top->list.selected--;
	list_select(&top->list, top->list.selected);
	top->list.key = frame;
	top->n_unfolded--;
	top->unfolded[line->unfolded] = top->unfolded[top->n_unfolded];
	ui_update(ui);
}

static void top_unfold(struct view_top *top, struct ui *ui)
{
	const struct top_line *line = top_selected(top);

	if (line && line->unfolded >= 0) {
		top_fold(top, ui);
		return;
	}
	if (!line)
		return;
	if (top->n_unfolded == TOP_MAX_UNFOLDED) {
		ui_message(ui, STYLE_NOTICE, "%d rows are unfolded: fold some (-), or all (C)",
			   TOP_MAX_UNFOLDED);
		return;
	}
	top->unfolded[top->n_unfolded++] = top->functions.rows[line->row].frame;
	list_select(&top->list, top->list.selected);
	ui_update(ui);
	if (!top->unfoldings[top->n_unfolded - 1].n)
		ui_message(ui, STYLE_NOTICE, "nobody calls it");
}

static void top_fold_all(struct view_top *top, struct ui *ui)
{
	const struct top_line *line = top_selected(top);

	if (line)
		top->list.key = top->functions.rows[line->row].frame;
	top_free_lines(top);
	top->n_unfolded = 0;
	ui_update(ui);
}

struct top_search {
	const struct view_top *top;
	const struct ui_model *model;
};

static bool top_matches(const void *context, size_t index)
{
	const struct top_search *search = context;
	const struct top_line *line = &search->top->lines[index];

	return view_matches(
		search->model,
		line->branch < 0
			? search->top->functions.rows[line->row].frame
			: search->top->unfoldings[line->unfolded].lines[line->branch].frame);
}

static bool top_search(struct view_top *top, const struct ui_model *model, enum request request)
{
	struct top_search search = { top, model };

	if (!model->search || !list_search(&top->list, request, top_matches, &search))
		return false;
	top->list.key = top_key(top, top->list.selected);
	return true;
}

static void top_open(struct view_top *top, struct ui *ui)
{
	uint32_t frame = top_selected_frame(top);

	if (frame != FRAME_NONE)
		ui_push(ui, view_callers_create(frame));
}

static bool top_request(struct view *view, struct ui *ui, enum request request)
{
	struct view_top *top = view_top(view);

	if (list_request(&top->list, request)) {
		if (top->n_lines)
			top->list.key = top_key(top, top->list.selected);
		return true;
	}
	switch ((int)request) {
	case REQUEST_OPEN:
		top_open(top, ui);
		return true;
	case REQUEST_UNFOLD:
		top_unfold(top, ui);
		return true;
	case REQUEST_FOLD:
		top_fold(top, ui);
		return true;
	case REQUEST_FOLD_ALL:
		top_fold_all(top, ui);
		return true;
	case REQUEST_SORT_LEFT:
		ui_set_sort(ui, table_next_column(&top->table, ui->model.sort, -1));
		return true;
	case REQUEST_SORT_RIGHT:
	case REQUEST_SORT_NEXT:
		ui_set_sort(ui, table_next_column(&top->table, ui->model.sort, 1));
		return true;
	case REQUEST_SEARCH_HERE:
	case REQUEST_SEARCH_NEXT:
	case REQUEST_SEARCH_PREVIOUS:
		return top_search(top, &ui->model, request);
	default:
		return false;
	}
}

/* A click on the line that is selected opens it. */
static void top_click(struct view *view, struct ui *ui, int row, int column)
{
	struct view_top *top = view_top(view);
	const struct column *sort = table_column_at(&top->table, column);
	enum list_click click = list_click(&top->list, row - top->first_row);

	if (row == top->first_row - 1 && sort)
		ui_set_sort(ui, sort);
	if (click == LIST_OPENED)
		top_open(top, ui);
	else if (click == LIST_SELECTED)
		top->list.key = top_key(top, top->list.selected);
}

static void top_destroy(struct view *view)
{
	struct view_top *top = view_top(view);

	top_free_lines(top);
	functions_free(&top->functions);
	free(top);
}

static const struct view_ops top_ops = {
	.mask = VIEW_TOP,
	.name = "the function table",
	.update = top_update,
	.draw = top_draw,
	.request = top_request,
	.click = top_click,
	.destroy = top_destroy,
};

struct view *view_top_create(void)
{
	struct view_top *top = calloc(1, sizeof(*top));

	if (!top)
		return NULL;
	top->view.ops = &top_ops;
	return &top->view;
}
