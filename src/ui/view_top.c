/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The top view: one row a function, sorted by a column, hot ones coloured; a row can be unfolded to
 * show who calls it. What is drawn is a list of lines: functions, and below the unfolded ones the
 * lines of their tree.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/core.h"
#include "ui/list.h"
#include "ui/unfold.h"
#include "xtop/cleanup.h"

#define TOP_MAX_UNFOLDED 32

struct top_line {
	uint32_t row;     /* in table.rows */
	int32_t branch;   /* line of the unfolding; negative: the function itself */
	int32_t unfolded; /* in view_top.unfolded; negative: it is folded */
};

struct column_place {
	const struct column *column;
	int at, width;
};

struct view_top {
	struct view view;
	struct list list;
	struct function_table table;
	struct top_line *lines;
	size_t n_lines;
	uint32_t unfolded[TOP_MAX_UNFOLDED];           /* frames */
	struct unfolding unfoldings[TOP_MAX_UNFOLDED]; /* of these */
	size_t n_unfolded;
	bool current;                          /* update() was done */
	int grown[N_COLUMNS];                  /* width of those that grow with their content */
	struct column_place places[N_COLUMNS]; /* as last drawn, for clicks and for `<` `>` */
	size_t n_places;
	int first_row;
};

static struct view_top *view_top(struct view *view)
{
	return (struct view_top *)view;
}

static struct column_context top_context(const struct view_top *top, const struct ui_model *model)
{
	return (struct column_context){ .snapshot = model->snapshot,
					.table = &top->table,
					.totals = model->totals,
					.addresses = model->addresses };
}

/* --- lines ------------------------------------------------------------------------------------ */

static uint64_t top_key(const struct view_top *top, size_t index)
{
	const struct top_line *line = &top->lines[index];

	if (line->branch >= 0)
		return top->unfoldings[line->unfolded].lines[line->branch].key;
	return top->table.rows[line->row]
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
		unfold_free(&top->unfoldings[i]);
	free(top->lines);
	top->lines = NULL;
	top->n_lines = 0;
}

static struct xtop_error *top_build_unfoldings(struct view_top *top, const struct ui_model *model)
{
	_cleanup_free_ struct snapshot_node *copy = NULL;
	const struct snapshot_node *nodes;
	struct xtop_error *error = NULL;

	if (top->n_unfolded)
		error = filter_nodes(model->filter, model->snapshot, &copy, &nodes);
	for (size_t i = 0; i < top->n_unfolded && !error; i++)
		error = unfold_build(model, nodes, top->unfolded[i], &top->unfoldings[i]);
	return error;
}

static struct xtop_error *top_build_lines(struct view_top *top, const struct ui_model *model)
{
	struct xtop_error *error;
	size_t n = top->table.n;

	top_free_lines(top);
	error = top_build_unfoldings(top, model);
	if (error)
		return error;
	for (size_t i = 0; i < top->n_unfolded; i++)
		n += top->unfoldings[i].n;
	top->lines = calloc(n + 1, sizeof(*top->lines));
	if (!top->lines)
		return error_create("out of memory");
	for (uint32_t row = 0; row < top->table.n; row++) {
		int32_t unfolded = top_find_unfolded(top, top->table.rows[row].frame);
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
	functions_free(&top->table);
	memset(&top->table, 0, sizeof(top->table));
	error = functions_build(model->snapshot, model->filter, model->addresses, &top->table);
	if (!error) {
		columns_sort(&context, model->sort, top->table.rows, top->table.n);
		error = top_build_lines(top, model);
	}
	top->current = !error;
	top_settle(top);
	return error;
}

/* --- columns ---------------------------------------------------------------------------------- */

/* Narrow screens have room for the essential ones only. */
static bool top_column_fits(enum column_id id, int columns_)
{
	switch (id) {
	case COLUMN_CHILDREN:
	case COLUMN_SELF:
	case COLUMN_SYMBOL:
		return true;
	case COLUMN_MODULE:
		return columns_ >= 60;
	case COLUMN_SAMPLES:
		return columns_ >= 100;
	}
	return false;
}

/* The widest cell among the lines to be drawn; only grows, so that columns do not wander. */
static int top_grown_width(struct view_top *top, const struct column_context *context,
			   const struct column *column, size_t page)
{
	int *grown = &top->grown[column->id],
	    most = column->width < 0 ? -column->width : column->width;
	char text[COLUMN_CELL_BYTES];

	if (!*grown && column->shown_always)
		*grown = canvas_text_width(column->header) + 1;
	for (size_t i = top->list.top; i < top->n_lines && i < top->list.top + page; i++) {
		int width = 0;

		if (top->lines[i].branch < 0 &&
		    column->entry(context, &top->table.rows[top->lines[i].row], text, sizeof(text)))
			width = canvas_text_width(text);
		*grown = width > *grown ? width : *grown;
	}
	return *grown < most ? *grown : most;
}

/* Which columns, and where: one cell for the cursor's mark, then two cells before each. */
static void top_place_columns(struct view_top *top, const struct column_context *context,
			      int columns_, size_t page)
{
	int at = 1, free_cells = columns_ - 1;
	size_t rest = 0;

	top->n_places = 0;
	for (size_t i = 0; i < N_COLUMNS; i++) {
		const struct column *column = &columns[i];
		int width = column->width;

		if (!top_column_fits(column->id, columns_))
			continue;
		if (width < 0 || !column->shown_always)
			width = top_grown_width(top, context, column, page);
		if (column->width && !width)
			continue;
		if (!column->width)
			rest = top->n_places;
		top->places[top->n_places++] = (struct column_place){ column, 0, width };
		free_cells -= width + 2;
	}
	top->places[rest].width += free_cells > 0 ? free_cells : 0;
	for (size_t i = 0; i < top->n_places; i++) {
		top->places[i].at = at;
		at += top->places[i].width + 2;
	}
}

/* Trees stand below the symbols; on a narrow screen names need the room more. */
static int top_tree_column(const struct view_top *top, int columns_)
{
	for (size_t i = 0; i < top->n_places; i++)
		if (top->places[i].column->id == COLUMN_SYMBOL && columns_ >= 60)
			return top->places[i].at;
	return 3;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* The mark of the sorted column stands in the gap behind the header, so that it moves nothing. */
static void top_draw_header(const struct view_top *top, const struct ui_model *model,
			    struct canvas *canvas, int row)
{
	canvas_fill(canvas, row, 0, canvas_columns(canvas), STYLE_HEADER);
	for (size_t i = 0; i < top->n_places; i++) {
		const struct column_place *place = &top->places[i];
		bool sorted = place->column == model->sort;
		enum style style = sorted ? STYLE_SORTED : STYLE_HEADER;
		int end = place->at + place->width;

		if (place->column->right)
			canvas_put_right(canvas, row, place->at, place->width, style,
					 place->column->header);
		else
			end = place->at + canvas_put(canvas, row, place->at, place->width, style,
						     place->column->header);
		if (sorted)
			canvas_put(canvas, row, end, 1, style, "▾");
	}
}

static enum style top_cell_style(const struct view_top *top, const struct ui_model *model,
				 enum column_id id, const struct function_row *row)
{
	double children = percent_of(weights_children(model, &row->weights),
				     weights_children(model, &top->table.whole));
	double self = percent_of(weights_self(model, &row->weights),
				 weights_children(model, &top->table.whole));

	if (id == COLUMN_CHILDREN)
		return style_of_percent(children);
	if (id == COLUMN_SELF)
		return style_of_percent(self);
	return children < 0.5 || frames_get(model->snapshot->frames, row->frame)->unknown
		       ? STYLE_DIM
		       : STYLE_NORMAL;
}

static void top_draw_function(const struct view_top *top, const struct ui_model *model,
			      struct canvas *canvas, int row, const struct function_row *function)
{
	struct column_context context = top_context(top, model);
	char text[COLUMN_CELL_BYTES];

	for (size_t i = 0; i < top->n_places; i++) {
		const struct column_place *place = &top->places[i];
		enum style style = top_cell_style(top, model, place->column->id, function);

		place->column->entry(&context, function, text, sizeof(text));
		if (place->column->right)
			canvas_put_right(canvas, row, place->at, place->width, style, text);
		else
			canvas_put_name(canvas, row, place->at, place->width, style, text);
	}
}

static void top_draw_line(const struct view_top *top, const struct ui_model *model,
			  struct canvas *canvas, int row, size_t index)
{
	const struct top_line *line = &top->lines[index];

	if (line->branch < 0) {
		top_draw_function(top, model, canvas, row, &top->table.rows[line->row]);
	} else {
		int at = top_tree_column(top, canvas_columns(canvas));

		unfold_draw_line(model, &top->unfoldings[line->unfolded].lines[line->branch],
				 canvas, row, at, canvas_columns(canvas) - at);
	}
	if (index == top->list.selected) {
		canvas_restyle(canvas, row, 0, canvas_columns(canvas), STYLE_SELECTED);
		canvas_put(canvas, row, 0, 1, STYLE_SELECTED, "▌");
	}
}

/* Why there are no rows. */
static void top_draw_empty(const struct ui_model *model, struct canvas *canvas, struct area area)
{
	const struct snapshot *snapshot = model->snapshot;
	int row = area.row + area.rows / 3;

	if (!snapshot)
		canvas_put(canvas, row, 2, area.columns - 2, STYLE_NORMAL,
			   "Waiting for the first picture ...");
	else if (model->filter && snapshot->resolver.samples)
		canvas_put(canvas, row, 2, area.columns - 2, STYLE_NORMAL,
			   "No stack matches the filter (Esc clears it).");
	else if (snapshot->resolver.states[VCPU_BLOCKED])
		canvas_put(canvas, row, 2, area.columns - 2, STYLE_NORMAL,
			   "No samples: the guest is idle.");
	else
		canvas_put(canvas, row, 2, area.columns - 2, STYLE_NORMAL, "No samples yet.");
}

static void top_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		     struct area area)
{
	struct view_top *top = view_top(view);
	struct column_context context = top_context(top, model);
	size_t page = area.rows > 1 ? (size_t)area.rows - 1 : 0;

	top->first_row = area.row + 1;
	if (!model->snapshot || !top->current || !top->n_lines) {
		top_draw_empty(model, canvas, area);
		return;
	}
	list_show(&top->list, page);
	top_place_columns(top, &context, area.columns, page);
	top_draw_header(top, model, canvas, area.row);
	for (size_t i = 0; i < page && top->list.top + i < top->n_lines; i++)
		top_draw_line(top, model, canvas, top->first_row + (int)i, top->list.top + i);
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
	return line->branch < 0 ? top->table.rows[line->row].frame
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
	top->unfolded[top->n_unfolded++] = top->table.rows[line->row].frame;
	list_select(&top->list, top->list.selected);
	ui_update(ui);
	if (!top->unfoldings[top->n_unfolded - 1].n)
		ui_message(ui, STYLE_NOTICE, "nobody calls it");
}

static void top_fold_all(struct view_top *top, struct ui *ui)
{
	const struct top_line *line = top_selected(top);

	if (line)
		top->list.key = top->table.rows[line->row].frame;
	top_free_lines(top);
	top->n_unfolded = 0;
	ui_update(ui);
}

/* To the next column shown, STEP to the right, round and round. */
static void top_move_sort(struct view_top *top, struct ui *ui, size_t step)
{
	for (size_t i = 0; i < top->n_places; i++) {
		if (top->places[i].column == ui->model.sort) {
			ui_set_sort(ui, top->places[(i + step) % top->n_places].column);
			return;
		}
	}
	if (top->n_places)
		ui_set_sort(ui, top->places[0].column);
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
		top_move_sort(top, ui, top->n_places ? top->n_places - 1 : 0);
		return true;
	case REQUEST_SORT_RIGHT:
	case REQUEST_SORT_NEXT:
		top_move_sort(top, ui, 1);
		return true;
	default:
		return false;
	}
}

static void top_click(struct view *view, struct ui *ui, int row, int column)
{
	struct view_top *top = view_top(view);

	if (row == top->first_row - 1) {
		for (size_t i = 0; i < top->n_places; i++)
			if (column >= top->places[i].at &&
			    column <= top->places[i].at + top->places[i].width)
				ui_set_sort(ui, top->places[i].column);
	} else if (row >= top->first_row &&
		   top->list.top + (size_t)(row - top->first_row) < top->n_lines) {
		list_select(&top->list, top->list.top + (size_t)(row - top->first_row));
		top->list.key = top_key(top, top->list.selected);
	}
}

static void top_destroy(struct view *view)
{
	struct view_top *top = view_top(view);

	top_free_lines(top);
	functions_free(&top->table);
	free(top);
}

static const struct view_ops top_ops = {
	.mask = VIEW_TOP,
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
