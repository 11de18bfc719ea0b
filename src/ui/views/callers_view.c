/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The callers and callees of one function, the focus, and the hottest whole stacks through the
 * focus. All shares are percentages of the focus. Enter makes the function under the cursor the
 * focus. The trail of focuses is the way back.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "ui/view.h"
#include "xtop/query/neighbours.h"

#define CALLERS_MAX_TRAIL    64 /* focuses; the oldest one is dropped to make room */
#define CALLERS_SIDE_BY_SIDE 64 /* columns from which on both lists are shown */
#define CALLERS_NAME_AT      10 /* first cell of the names in a list */

enum callers_side { SIDE_CALLERS, SIDE_CALLEES };

struct focus {
	uint32_t frame;
	enum callers_side side;
	struct list lists[2];
};

struct view_callers {
	struct view view;
	struct focus trail[CALLERS_MAX_TRAIL];
	size_t n_trail; /* the last function is the focus */
	struct neighbours neighbours;
	struct neighbours base; /* the baseline's neighbours, joined with NEIGHBOURS */
	struct weights base_whole;
	bool compared; /* there is a baseline */
	bool current;  /* NEIGHBOURS were computed */
	bool by_name;  /* how lists are sorted; not by share */
	int first_row; /* first row of the lists, as last drawn */
	bool side_by_side;
	int columns;
};

static struct view_callers *view_callers(struct view *view)
{
	return (struct view_callers *)view;
}

static struct focus *callers_focus(struct view_callers *callers)
{
	return &callers->trail[callers->n_trail - 1];
}

static struct function_table *callers_table(struct view_callers *callers, enum callers_side side)
{
	return side == SIDE_CALLERS ? &callers->neighbours.callers : &callers->neighbours.callees;
}

/* --- update ----------------------------------------------------------------------------------- */

/* Gives rows without weight to callers and callees that only the baseline has. */
static struct xtop_error *callers_compare(struct view_callers *callers,
					  const struct ui_model *model)
{
	struct neighbours *now = &callers->neighbours, *base = &callers->base;
	struct snapshot selected;
	const struct snapshot *baseline =
		view_open_baseline(model, &selected, &callers->base_whole);
	uint32_t frame = callers_focus(callers)->frame;
	struct xtop_error *error;

	if (!baseline)
		return NULL;
	/* A function that is newer than the baseline has no neighbours in it. */
	error = neighbours_build(baseline, NULL, model->names.addresses,
				 frame < baseline->n_frames ? frame : FRAME_ROOT, base);
	view_close_baseline(model, &selected);
	if (!error && frame < baseline->n_frames)
		error = functions_join(&now->callers, &base->callers);
	if (!error && frame < baseline->n_frames)
		error = functions_join(&now->callees, &base->callees);
	callers->compared = !error;
	return error;
}

static struct xtop_error *callers_update(struct view *view, const struct ui_model *model)
{
	struct view_callers *callers = view_callers(view);
	struct xtop_error *error;

	if (callers->current)
		neighbours_deinit(&callers->neighbours);
	if (callers->compared)
		neighbours_deinit(&callers->base);
	callers->compared = false;
	memset(&callers->neighbours, 0, sizeof(callers->neighbours));
	error = neighbours_build(model->snapshot, NULL, model->names.addresses,
				 callers_focus(callers)->frame, &callers->neighbours);
	callers->current = !error;
	if (!error)
		error = callers_compare(callers, model);
	for (int side = SIDE_CALLERS; side <= SIDE_CALLEES; side++) {
		struct function_table *table = callers_table(callers, side);
		struct column_context context = { .snapshot = model->snapshot,
						  .table = table,
						  .totals = model->shares.totals };

		columns_sort(&context, &columns[callers->by_name ? COLUMN_SYMBOL : COLUMN_CHILDREN],
			     table->rows, table->n);
		list_update(&callers_focus(callers)->lists[side], table->n, view_function_key,
			    table);
	}
	return error;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* "web01 › main › tcp_sendmsg": what does not fit is left out on the left. */
static void callers_draw_trail(struct view_callers *callers, const struct ui_model *model,
			       struct canvas *canvas, int row, int width)
{
	char name[SNAPSHOT_NAME_BYTES];
	size_t first = callers->n_trail - 1;
	int column = 1,
	    needed = canvas_text_width(view_frame_name(model, callers->trail[first].frame, name));

	while (first > 0) {
		int more = 3 + canvas_text_width(view_frame_name(
				       model, callers->trail[first - 1].frame, name));

		if (needed + more + 4 > width) /* "… › " */
			break;
		needed += more;
		first--;
	}
	if (first == 0 && needed + 3 + canvas_text_width(model->domain) <= width)
		column += canvas_put(canvas, row, column, width, STYLE_NORMAL, model->domain);
	else
		column += canvas_put(canvas, row, column, width, STYLE_DIM, "…");
	for (size_t i = first; i < callers->n_trail; i++) {
		bool last = i + 1 == callers->n_trail;

		column += canvas_put(canvas, row, column, width + 1 - column, STYLE_DIM, " › ");
		column += canvas_put_name(canvas, row, column, width + 1 - column,
					  last ? STYLE_TITLE : STYLE_NORMAL,
					  view_frame_name(model, callers->trail[i].frame, name));
	}
}

static void callers_draw_focus(struct view_callers *callers, const struct ui_model *model,
			       struct canvas *canvas, int row, int columns_)
{
	const struct frame *frame =
		frames_get(model->snapshot->frames, callers_focus(callers)->frame);
	double whole = weights_children(model, &model->whole);
	double children = percent_of(weights_children(model, &callers->neighbours.focus), whole);
	double self = percent_of(weights_self(model, &callers->neighbours.focus), whole);
	double recursive =
		percent_of(weights_children(model, &callers->neighbours.recursive), whole);
	const char *module = "";
	char text[256];
	int width, module_width = 0;

	if (columns_ < 60) /* no room for words */
		snprintf(text, sizeof(text), "%.2f", children);
	else if (recursive > 0)
		snprintf(text, sizeof(text), "children %.2f  self %.2f  recursive %.2f", children,
			 self, recursive);
	else
		snprintf(text, sizeof(text), "children %.2f  self %.2f", children, self);
	if (columns_ >= 80 && !(recursive > 0))
		module = frames_get_home(model->all->frames, frame);
	width = canvas_text_width(text);
	if (*module) { /* a long name must leave room for the function's */
		module_width = canvas_text_width(module);
		module_width = 2 + (module_width < columns_ / 4 ? module_width : columns_ / 4);
	}
	callers_draw_trail(callers, model, canvas, row, columns_ - width - module_width - 4);
	canvas_put(canvas, row, columns_ - width - module_width - 1, width, STYLE_NORMAL, text);
	if (*module)
		canvas_put_name(canvas, row, columns_ - module_width + 1, module_width - 2,
				STYLE_NORMAL, module);
}

/* The change of the row's share of all samples since the baseline, in points. */
static double callers_points(struct view_callers *callers, const struct ui_model *model,
			     enum callers_side side, const struct function_row *row)
{
	const struct function_table *base =
		side == SIDE_CALLERS ? &callers->base.callers : &callers->base.callees;
	double before = row->base ? weights_children(model, &base->rows[row->base - 1].weights) : 0;

	return percent_of(weights_children(model, &row->weights),
			  weights_children(model, &model->whole)) -
	       percent_of(before, weights_children(model, &callers->base_whole));
}

/* A row of the list that begins at COLUMN. */
struct callers_place {
	enum callers_side side;
	size_t index;
	int column;
};

static void callers_draw_row(struct view_callers *callers, const struct ui_model *model,
			     struct canvas *canvas, const struct callers_place *place,
			     struct area cell)
{
	enum callers_side side = place->side;
	int column = place->column;
	const struct function_row *row = &callers_table(callers, side)->rows[place->index];
	struct focus *focus = callers_focus(callers);
	double share = percent_of(weights_children(model, &row->weights),
				  weights_children(model, &callers->neighbours.focus));
	char buffer[SNAPSHOT_NAME_BYTES];
	const char *name = view_frame_name(model, row->frame, buffer);
	int end;

	if (side == SIDE_CALLEES && row->frame == focus->frame)
		name = "(itself)";
	else if (row->frame == FRAME_ROOT)
		name = "(nobody: outermost)";
	end = column + CALLERS_NAME_AT;
	end += canvas_put_name(canvas, cell.row, end, cell.columns - CALLERS_NAME_AT,
			       view_matches(model, row->frame) ? STYLE_MATCH
			       : share < 0.5                   ? STYLE_DIM
							       : STYLE_NORMAL,
			       name);
	if (end + 2 < column + cell.columns)
		canvas_put_name(canvas, cell.row, end + 2, column + cell.columns - end - 2,
				STYLE_DIM, view_frame_source(model, row->frame));
	if (callers->compared)
		view_put_changed(canvas, cell.row, column + 1, share,
				 callers_points(callers, model, side, row));
	else
		view_put_share(canvas, cell.row, column + 1, share);
	if (place->index == focus->lists[side].selected)
		view_mark_in_list(canvas, cell.row, column, cell.columns, side == focus->side);
}

static void callers_draw_list(struct view_callers *callers, const struct ui_model *model,
			      struct canvas *canvas, enum callers_side side, struct area area,
			      int column)
{
	struct list *list = &callers_focus(callers)->lists[side];
	bool active = callers_focus(callers)->side == side;
	size_t page = area.rows > 1 ? (size_t)area.rows - 1 : 0;
	int at = column + CALLERS_NAME_AT;

	canvas_fill(canvas, area.row, column, area.columns, STYLE_HEADER);
	at += canvas_put(canvas, area.row, at, area.columns - CALLERS_NAME_AT,
			 active ? STYLE_SORTED : STYLE_HEADER,
			 side == SIDE_CALLERS ? "Caller" : "Callee");
	canvas_put_right(canvas, area.row, column + 1, 7, STYLE_HEADER, "Share");
	canvas_put(canvas, area.row, callers->by_name ? at : column + 8, 1, STYLE_HEADER, "▾");
	if (!callers->side_by_side)
		canvas_put_right(canvas, area.row, column + 20, area.columns - 21, STYLE_HEADER,
				 side == SIDE_CALLERS ? "Tab: callees" : "Tab: callers");
	list_show(list, page);
	for (size_t i = 0; i < page && list->top + i < list->n; i++) {
		struct area cell = { area.row + 1 + (int)i, 1, area.columns };
		const struct callers_place place = { side, list->top + i, column };

		callers_draw_row(callers, model, canvas, &place, cell);
	}
	if (!list->n && page)
		canvas_put(canvas, area.row + 1, column + 10, area.columns - 10, STYLE_DIM,
			   "(not in this picture)");
}

/* --- whole chains ----------------------------------------------------------------------------- */

/* The frames of a chain, from the innermost out. */
struct chain_path {
	uint32_t frames[SNAPSHOT_MAX_DEPTH];
	bool shown[SNAPSHOT_MAX_DEPTH]; /* there is room for the frame */
	size_t n, focus; /* FOCUS: index of the outermost frame that is the focus */
};

/* The function that FRAME is counted under (struct frame, group). */
static uint32_t chain_group(const struct ui_model *model, uint32_t frame)
{
	return model->names.addresses ? frame : frames_get(model->all->frames, frame)->group;
}

static void chain_fill(struct chain_path *path, const struct ui_model *model,
		       const struct chain *chain, uint32_t focus)
{
	const struct snapshot *snapshot = model->snapshot;

	path->n = path->focus = 0;
	for (uint32_t node = chain->node; node && path->n < SNAPSHOT_MAX_DEPTH;
	     node = snapshot->nodes[node].parent) {
		uint32_t frame = snapshot->nodes[node].frame;

		if (chain_group(model, frame) == focus)
			path->focus = path->n;
		path->shown[path->n] = false;
		path->frames[path->n++] = frame;
	}
}

/*
 * The index of the frame with RANK; rank 0 is the most important one. The order is: the outermost
 * frame, the focus, the innermost frame, the caller of the focus, frames inside the focus, frames
 * outside.
 */
static size_t chain_ranked(const struct chain_path *path, size_t rank)
{
	const size_t first[] = { path->n - 1, path->focus, 0, path->focus + 1 };
	size_t n_inside = path->focus > 1 ? path->focus - 1 : 0;

	if (rank < 4)
		return first[rank];
	rank -= 4;
	return rank < n_inside ? 1 + rank : path->focus + 2 + rank - n_inside;
}

/* The width of the frames shown, with "…" for each gap. */
static int chain_width(const struct chain_path *path, const int *widths)
{
	int width = -3;

	for (size_t i = 0; i < path->n; i++) {
		if (path->shown[i])
			width += 3 + widths[i];
		else if (!i || path->shown[i - 1])
			width += 3 + 1;
	}
	return width;
}

/* Shows frames by rank while they fit into ROOM cells. The first two are always shown. */
static void chain_fit(struct chain_path *path, const struct ui_model *model, int room)
{
	int widths[SNAPSHOT_MAX_DEPTH];
	char name[SNAPSHOT_NAME_BYTES];

	for (size_t i = 0; i < path->n; i++)
		widths[i] = canvas_text_width(view_frame_name(model, path->frames[i], name));
	for (size_t rank = 0; rank < path->n + 4; rank++) {
		size_t i = chain_ranked(path, rank);

		if (i >= path->n || path->shown[i])
			continue;
		path->shown[i] = true;
		if (rank > 1 && chain_width(path, widths) > room) {
			path->shown[i] = false;
			return;
		}
	}
}

/* Draws a chain from the outermost function in. chain_fit() chooses the frames. */
static void callers_draw_chain(struct view_callers *callers, const struct ui_model *model,
			       struct canvas *canvas, int row, int columns_,
			       const struct chain *chain)
{
	double share = percent_of(weights_self(model, &chain->weights),
				  weights_children(model, &callers->neighbours.focus));
	uint32_t focus = callers_focus(callers)->frame;
	struct chain_path path;
	char name[SNAPSHOT_NAME_BYTES];
	int column = 10;

	chain_fill(&path, model, chain, focus);
	if (!path.n)
		return;
	chain_fit(&path, model, columns_ - column - 1);
	view_put_share(canvas, row, 1, share);
	for (size_t i = path.n; i-- > 0;) {
		bool after_gap = i + 1 < path.n && !path.shown[i + 1];

		if (!path.shown[i] && after_gap)
			continue;
		if (i + 1 < path.n)
			column += canvas_put(canvas, row, column, columns_ - column, STYLE_DIM,
					     " › ");
		column += canvas_put_name(
			canvas, row, column, columns_ - column,
			!path.shown[i]                                 ? STYLE_DIM
			: chain_group(model, path.frames[i]) == focus ? STYLE_TITLE
								      : STYLE_NORMAL,
			path.shown[i] ? view_frame_name(model, path.frames[i], name) : "…");
	}
}

static void callers_draw_chains(struct view_callers *callers, const struct ui_model *model,
				struct canvas *canvas, struct area area)
{
	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_put_right(canvas, area.row, 1, 7, STYLE_HEADER, "Share");
	canvas_put(canvas, area.row, 10, area.columns - 10, STYLE_HEADER,
		   "Whole chains, hottest first");
	for (int i = 0; i + 1 < area.rows && (size_t)i < callers->neighbours.n_chains; i++)
		callers_draw_chain(callers, model, canvas, area.row + 1 + i, area.columns,
				   &callers->neighbours.chains[i]);
}

static void callers_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			 struct area area)
{
	struct view_callers *callers = view_callers(view);
	struct focus *focus = callers_focus(callers);
	size_t longest =
		focus->lists[0].n > focus->lists[1].n ? focus->lists[0].n : focus->lists[1].n;
	int rows = area.rows - 1, chains = 0;
	struct area lists = { area.row + 1, rows, area.columns };

	if (!model->snapshot || !callers->current)
		return;
	callers->side_by_side = area.columns >= CALLERS_SIDE_BY_SIDE;
	callers->columns = area.columns;
	callers->first_row = lists.row + 1;
	if (rows >= 9) { /* lists get what they need, but at most two thirds */
		lists.rows = (size_t)(2 * rows / 3) > longest + 2 ? (int)longest + 2 : 2 * rows / 3;
		lists.rows = lists.rows < 4 ? 4 : lists.rows;
		chains = rows - lists.rows;
	}
	callers_draw_focus(callers, model, canvas, area.row, area.columns);
	if (callers->side_by_side) {
		int half = area.columns / 2;

		lists.columns = half;
		callers_draw_list(callers, model, canvas, SIDE_CALLERS, lists, 0);
		lists.columns = area.columns - half;
		callers_draw_list(callers, model, canvas, SIDE_CALLEES, lists, half);
	} else {
		callers_draw_list(callers, model, canvas, focus->side, lists, 0);
	}
	if (chains)
		callers_draw_chains(callers, model, canvas,
				    (struct area){ lists.row + lists.rows, chains, area.columns });
}

/* --- requests --------------------------------------------------------------------------------- */

static void callers_set_focus(struct view_callers *callers, uint32_t frame, enum callers_side side)
{
	if (callers->n_trail == CALLERS_MAX_TRAIL)
		memmove(callers->trail, callers->trail + 1,
			--callers->n_trail * sizeof(callers->trail[0]));
	memset(&callers->trail[callers->n_trail], 0, sizeof(callers->trail[0]));
	callers->trail[callers->n_trail].frame = frame;
	callers->trail[callers->n_trail++].side = side;
}

/* Makes the selected function the focus. The cursor stays on the same side. */
static struct request callers_open(struct view_callers *callers)
{
	struct focus *focus = callers_focus(callers);
	uint32_t frame = view_selected(&focus->lists[focus->side], NULL);

	if (frame == FRAME_NONE || frame == FRAME_ROOT) /* no row; "(nobody)" */
		return request_of(REQUEST_NONE);
	if (frame == focus->frame) /* "(itself)" */
		return view_annotation_of(frame);
	callers_set_focus(callers, frame, focus->side);
	return request_of(REQUEST_UPDATE);
}

static struct request callers_sort(struct view_callers *callers, bool by_name)
{
	callers->by_name = by_name;
	return request_of(REQUEST_UPDATE);
}

static struct request callers_handle(struct view *view, const struct ui_model *model,
				     struct request request)
{
	struct view_callers *callers = view_callers(view);
	struct focus *focus = callers_focus(callers);
	struct list *list = &focus->lists[focus->side];

	switch ((int)request.code) {
	case REQUEST_OPEN:
		return callers_open(callers);
	case REQUEST_ANNOTATE:
		return view_annotation_of(view_selected(list, NULL));
	case REQUEST_SWITCH:
		focus->side = focus->side == SIDE_CALLERS ? SIDE_CALLEES : SIDE_CALLERS;
		return request_of(REQUEST_NONE);
	case REQUEST_BACK:
	case REQUEST_BACK_OR_QUIT:
		if (callers->n_trail == 1)
			return request;
		callers->n_trail--;
		return request_of(REQUEST_UPDATE);
	case REQUEST_SORT_LEFT:
	case REQUEST_SORT_RIGHT:
	case REQUEST_SORT_NEXT:
		return callers_sort(callers, !callers->by_name);
	default:
		return view_handle_list(list, model, request, NULL);
	}
}

/* A click on the selected row makes its function the focus, one on a header sorts. */
static struct request callers_click(struct view *view, const struct ui_model *model, int row,
				    int column)
{
	struct view_callers *callers = view_callers(view);
	struct focus *focus = callers_focus(callers);
	enum callers_side before = focus->side;
	enum list_click click;

	(void)model;
	if (callers->side_by_side)
		focus->side = column < callers->columns / 2 ? SIDE_CALLERS : SIDE_CALLEES;
	if (row == callers->first_row - 1) {
		if (callers->side_by_side && focus->side == SIDE_CALLEES)
			column -= callers->columns / 2;
		return callers_sort(callers, column >= CALLERS_NAME_AT - 1);
	}
	click = list_click(&focus->lists[focus->side], row - callers->first_row);
	return click == LIST_OPENED && focus->side == before ? callers_open(callers)
							     : request_of(REQUEST_NONE);
}

static void callers_init(struct view *view, const struct view *below, uint32_t frame)
{
	(void)below;
	callers_set_focus(view_callers(view), frame, SIDE_CALLERS);
}

static void callers_deinit(struct view *view)
{
	struct view_callers *callers = view_callers(view);

	if (callers->current)
		neighbours_deinit(&callers->neighbours);
	if (callers->compared)
		neighbours_deinit(&callers->base);
}

/* clang-format off */
static const struct key callers_keys[] = {
	{ KEYS_SWITCH, { INPUT_TAB }, .request = REQUEST_SWITCH,
	  .names = "Tab", .help = "to the other list" },
	{ KEYS_SWITCH, { 'd' }, .request = REQUEST_PAIR,
	  .names = "d", .help = "against the next guest" },
};
/* clang-format on */

const struct view_ops callers_ops = {
	.name = "callers and callees",
	.size = sizeof(struct view_callers),
	.traits = VIEW_GUEST | VIEW_FUNCTIONS | VIEW_OPENS_CALLERS | VIEW_SEARCHED | VIEW_COLUMNS |
		  VIEW_SOURCES | VIEW_STACKED,
	.keys = callers_keys,
	.n_keys = sizeof(callers_keys) / sizeof(callers_keys[0]),
	.init = callers_init,
	.update = callers_update,
	.draw = callers_draw,
	.handle = callers_handle,
	.click = callers_click,
	.deinit = callers_deinit,
};
