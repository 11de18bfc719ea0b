/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flame graph, drawn as an icicle: the outermost function is on top, each function is below its
 * caller and as wide as its share. The cursor stays on its function while widths change.
 *
 *	 web01 › all                                      100 % = 10,000 samples
 *	│all
 *	│httpd                          │gzip         │app       │fib    │md5sum
 *	│_start                         │_start       │_start    │_start │_start
 *	 [tcp_sendmsg]  34.27 % of all, 85.3 % of httpd          Enter zoom  Esc back
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "ui/figures.h"
#include "ui/view.h"
#include "xtop/query/flame.h"

struct view_flame {
	struct view view;
	struct flame flame;
	uint32_t zoom[FLAME_MAX_ZOOM];
	size_t n_zoom;
	size_t back[FLAME_MAX_ZOOM]; /* earlier values of n_zoom to go back to, ascending */
	size_t n_back;
	uint64_t key;    /* key of the selected function */
	size_t selected; /* cell of the selected function */
	int top;         /* depth shown on the first row */
	bool inverted, current;
	bool fold;           /* pass-through functions were folded away */
	int columns;         /* width that the graph was built for; 0: it was not built */
	int first_row, rows; /* rows of the graph, as last drawn */
	struct weights matched;
	struct weights base_whole; /* what 100 % of the baseline is */
	bool compared;             /* there is a baseline */
	bool searched;
};

static struct view_flame *view_flame(struct view *view)
{
	return (struct view_flame *)view;
}

/* --- update ----------------------------------------------------------------------------------- */

static struct xtop_error *flame_rebuild(struct view_flame *flame, const struct ui_model *model)
{
	struct flame_settings settings = { .totals = model->shares.totals,
					   .addresses = model->names.addresses,
					   .inverted = flame->inverted,
					   .columns = flame->columns,
					   .max_depth = FLAME_MAX_DEPTH,
					   .n_zoom = flame->n_zoom,
					   .zoom = flame->zoom };
	struct snapshot base;
	struct xtop_error *error;

	flame_deinit(&flame->flame);
	flame->current = false;
	settings.base = view_open_folded_baseline(model, &base, &flame->base_whole);
	flame->compared = settings.base;
	error = flame_build(model->folded, &settings, &flame->flame);
	if (settings.base)
		view_close_baseline(model, &base);
	if (error)
		return error;
	flame->current = true;
	flame->selected = flame->flame.n ? flame->flame.n - 1 : 0;
	while (flame->selected && flame->flame.cells[flame->selected].key != flame->key)
		flame->selected--;
	return NULL;
}

static void flame_show_all(struct view_flame *flame)
{
	flame->n_zoom = flame->n_back = 0;
}

/* Before the first drawing the width is unknown; then flame_draw() builds the graph. */
static struct xtop_error *flame_update(struct view *view, const struct ui_model *model)
{
	struct view_flame *flame = view_flame(view);

	if (flame->fold != model->rc->fold) {
		flame->fold = model->rc->fold;
		flame_show_all(flame); /* the chain to the zoomed function has changed */
	}
	flame->searched = model->search != NULL;
	if (flame->searched)
		flame->matched = filter_weights(model->search, model->snapshot);
	if (!flame->columns)
		flame->columns = model->screen.columns;
	return flame->columns ? flame_rebuild(flame, model) : NULL;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static bool flame_is_library(const char *module)
{
	return strstr(module, ".so") || (module[0] == '[' && strcmp(module, "[kernel]"));
}

static enum style flame_style(const struct ui_model *model, uint32_t id)
{
	const struct frame *frame = frames_get(model->all->frames, id);

	if (frame->unknown)
		return STYLE_FLAME_UNKNOWN;
	switch (frame->kind) {
	case FRAME_KIND_KERNEL:
		return STYLE_FLAME_KERNEL;
	case FRAME_KIND_FUNCTION:
	case FRAME_KIND_USERLAND:
		return flame_is_library(frame->module) ? STYLE_FLAME_LIBRARY : STYLE_FLAME_USER;
	case FRAME_KIND_ROOT:
	case FRAME_KIND_OWNER:
	case FRAME_KIND_MARK:
		break;
	}
	return STYLE_FLAME_OTHER;
}

/* The change of the cell's share since the baseline, in points. */
static double flame_points(const struct view_flame *flame, const struct ui_model *model,
			   const struct flame_cell *cell)
{
	return percent_of(weights_children(model, &cell->weights),
			  weights_children(model, &model->whole)) -
	       percent_of(weights_children(model, &cell->base),
			  weights_children(model, &flame->base_whole));
}

static enum style flame_cell_style(const struct view_flame *flame, const struct ui_model *model,
				   const struct flame_cell *cell)
{
	double points = flame->compared ? flame_points(flame, model, cell) : 0;

	if (view_matches(model, cell->frame))
		return STYLE_MATCH;
	if (!flame->compared)
		return flame_style(model, cell->frame);
	return points >= 0.5    ? STYLE_FLAME_MORE
	       : points <= -0.5 ? STYLE_FLAME_LESS
				: STYLE_FLAME_OTHER;
}

/* Draws an edge, and as much of the name as fits. */
static void flame_draw_cell(const struct view_flame *flame, const struct ui_model *model,
			    struct canvas *canvas, int row, size_t index)
{
	const struct flame_cell *cell = &flame->flame.cells[index];
	enum style style =
		index == flame->selected ? STYLE_SELECTED : flame_cell_style(flame, model, cell);
	char buffer[SNAPSHOT_NAME_BYTES];

	canvas_fill(canvas, row, cell->x, cell->width, style);
	canvas_put(canvas, row, cell->x, 1, style, index == flame->selected ? "▌" : "│");
	if (cell->width >= 4)
		canvas_put_name(canvas, row, cell->x + 1, cell->width - 1, style,
				view_frame_name(model, cell->frame, buffer));
}

static void flame_draw_title(const struct view_flame *flame, const struct ui_model *model,
			     struct canvas *canvas, struct area area)
{
	char count[32], text[96], buffer[SNAPSHOT_NAME_BYTES];
	double whole = weights_children(model, &model->whole);
	int column = 1, width;

	if (flame->searched)
		snprintf(text, sizeof(text), "matching: %.2f %%",
			 percent_of(weights_children(model, &flame->matched), whole));
	else
		snprintf(text, sizeof(text), area.columns < 60 ? "%s" : "100 %% = %s samples",
			 format_count(model->whole.children_total, count));
	width = canvas_text_width(text);
	canvas_put(canvas, area.row, area.columns - width - 1, width,
		   flame->searched ? STYLE_MATCH : STYLE_NORMAL, text);
	column += canvas_put(canvas, area.row, column, 24, STYLE_NORMAL, model->domain);
	column += canvas_put(canvas, area.row, column, 3, STYLE_DIM, " › ");
	canvas_put_name(canvas, area.row, column, area.columns - width - 3 - column, STYLE_TITLE,
			flame->n_zoom
				? view_frame_name(model, flame->zoom[flame->n_zoom - 1], buffer)
			: flame->inverted ? "all, inverted"
					  : "all");
}

/* Draws the function under the cursor with its shares. */
static void flame_draw_foot(const struct view_flame *flame, const struct ui_model *model,
			    struct canvas *canvas, int row, int columns_)
{
	const struct flame_cell *cells = flame->flame.cells, *cell = &cells[flame->selected],
				*outermost = cell;
	double weight = weights_children(model, &cell->weights);
	char buffer[SNAPSHOT_NAME_BYTES], shares[96];
	const char *name = view_frame_name(model, cell->frame, buffer);
	int width;

	while (outermost->depth > 1)
		outermost = &cells[outermost->parent];
	snprintf(shares, sizeof(shares), "%.2f %% of all",
		 percent_of(weight, weights_children(model, &model->whole)));
	if (flame->compared)
		snprintf(shares + strlen(shares), sizeof(shares) - strlen(shares), ", %+.2f",
			 flame_points(flame, model, cell));
	if (cell->depth > 1 && columns_ >= 60)
		snprintf(shares + strlen(shares), sizeof(shares) - strlen(shares),
			 ", %.1f %% of %.32s",
			 percent_of(weight, weights_children(model, &outermost->weights)),
			 view_frame_name(model, outermost->frame, buffer));
	width = canvas_text_width(shares);
	name = view_frame_name(model, cell->frame, buffer);
	canvas_fill(canvas, row, 0, columns_, STYLE_HEADER);
	canvas_put_name(canvas, row, 1, columns_ - width - 4, STYLE_HEADER, name);
	canvas_put(canvas, row, columns_ - width - 1, width, STYLE_HEADER, shares);
}

/* Scrolls so that the selected function is on the screen. */
static void flame_scroll(struct view_flame *flame)
{
	int depth = flame->flame.cells[flame->selected].depth, last = flame->flame.depth + 1;

	if (flame->top > depth)
		flame->top = depth;
	if (depth >= flame->top + flame->rows)
		flame->top = depth - flame->rows + 1;
	if (flame->top > last - flame->rows)
		flame->top = last > flame->rows ? last - flame->rows : 0;
}

static bool flame_has_samples(const struct ui_model *model)
{
	struct weights all;

	if (!model->snapshot)
		return false;
	all = weights_of(&model->snapshot->nodes[0]);
	return weights_children(model, &all) > 0;
}

static void flame_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		       struct area area)
{
	struct view_flame *flame = view_flame(view);

	if (!flame_has_samples(model)) {
		view_draw_empty(model, canvas, area);
		return;
	}
	if (flame->columns != area.columns) {
		flame->columns = area.columns;
		error_destroy(flame_rebuild(flame, model));
	}
	flame->first_row = area.row + 1;
	flame->rows = area.rows - 2;
	if (!flame->current)
		return;
	flame_draw_title(flame, model, canvas, area);
	flame_scroll(flame);
	for (size_t i = 0; i < flame->flame.n; i++) {
		int line = flame->flame.cells[i].depth - flame->top;

		if (line >= 0 && line < flame->rows)
			flame_draw_cell(flame, model, canvas, flame->first_row + line, i);
	}
	if (!flame->flame.zoomed)
		canvas_put(canvas, flame->first_row + (int)flame->n_zoom + 1, 2, area.columns,
			   STYLE_DIM, "(not in this picture: Esc shows all)");
	flame_draw_foot(flame, model, canvas, area.row + area.rows - 1, area.columns);
}

/* --- moving ----------------------------------------------------------------------------------- */

static void flame_select(struct view_flame *flame, size_t index)
{
	flame->selected = index;
	flame->key = flame->flame.cells[index].key;
}

/* Moves to the widest function that the selected one calls. */
static void flame_move_down(struct view_flame *flame)
{
	const struct flame_cell *cells = flame->flame.cells;
	size_t widest = flame->selected;
	double most = -1;

	for (size_t i = flame->selected + 1; i < flame->flame.n; i++) {
		if (cells[i].depth <= cells[flame->selected].depth)
			break;
		if (cells[i].parent == flame->selected && cells[i].width > most) {
			most = cells[i].width;
			widest = i;
		}
	}
	flame_select(flame, widest);
}

/* Moves to the next function on the same row, to the left (STEP is -1) or to the right (1). */
static void flame_move_beside(struct view_flame *flame, int step)
{
	const struct flame_cell *cells = flame->flame.cells;
	size_t i = flame->selected;
	int depth = cells[i].depth;

	while (step < 0 ? i > 0 : i + 1 < flame->flame.n) {
		i += (size_t)step;
		if (cells[i].depth == depth) {
			flame_select(flame, i);
			return;
		}
	}
}

/*
 * Makes the selected function fill the width. If the selected function is above the zoomed one,
 * this zooms out and drops the deeper zooms from the way back.
 */
static struct request flame_zoom(struct view_flame *flame)
{
	const struct flame_cell *cells = flame->flame.cells, *cell = &cells[flame->selected];

	if (cell->depth > (int)FLAME_MAX_ZOOM)
		return view_message("too far in to zoom");
	if (flame->n_zoom == (size_t)cell->depth)
		return view_message("that fills the width already: Down goes inwards");
	if ((size_t)cell->depth > flame->n_zoom)
		flame->back[flame->n_back++] = flame->n_zoom;
	while (flame->n_back && flame->back[flame->n_back - 1] >= (size_t)cell->depth)
		flame->n_back--;
	flame->n_zoom = (size_t)cell->depth;
	for (size_t i = flame->n_zoom; i > 0; i--) {
		flame->zoom[i - 1] = cell->frame;
		cell = &cells[cell->parent];
	}
	return request_of(REQUEST_UPDATE);
}

/*
 * Goes one zoom back, or back to all if the picture lacks the zoomed function. Returns false if all
 * is shown already.
 */
static bool flame_zoom_back(struct view_flame *flame)
{
	if (!flame->n_zoom)
		return false;
	if (flame->n_back && flame->flame.zoomed)
		flame->n_zoom = flame->back[--flame->n_back];
	else
		flame_show_all(flame);
	return true;
}

static bool flame_search(struct view_flame *flame, const struct ui_model *model,
			 enum request_code code)
{
	size_t n = flame->flame.n, at = flame->selected,
	       step = code == REQUEST_SEARCH_PREVIOUS ? n - 1 : 1;

	if (!model->search || !flame->current || !n)
		return false;
	if (code != REQUEST_SEARCH_HERE)
		at = (at + step) % n;
	for (size_t i = 0; i < n; i++, at = (at + step) % n) {
		if (!view_matches(model, flame->flame.cells[at].frame))
			continue;
		flame_select(flame, at);
		return true;
	}
	return false;
}

static bool flame_move(struct view_flame *flame, enum request_code code)
{
	size_t selected = flame->selected;

	switch ((int)code) {
	case REQUEST_UP:
		flame_select(flame, flame->flame.cells[selected].parent);
		return true;
	case REQUEST_DOWN:
		flame_move_down(flame);
		return true;
	case REQUEST_LEFT:
		flame_move_beside(flame, -1);
		return true;
	case REQUEST_RIGHT:
		flame_move_beside(flame, 1);
		return true;
	case REQUEST_HOME:
		flame_select(flame, 0);
		return true;
	case REQUEST_END:
		do {
			selected = flame->selected;
			flame_move_down(flame);
		} while (flame->selected != selected);
		return true;
	default:
		return false;
	}
}

/* Returns FRAME_NONE if there is no graph. */
static uint32_t flame_selected(const struct view_flame *flame)
{
	return flame->current && flame->flame.n ? flame->flame.cells[flame->selected].frame
						: FRAME_NONE;
}

static struct request flame_handle(struct view *view, const struct ui_model *model,
				   struct request request)
{
	struct view_flame *flame = view_flame(view);

	if (flame->current && flame_move(flame, request.code))
		return request_of(REQUEST_NONE);
	switch ((int)request.code) {
	case REQUEST_OPEN:
		return flame->current ? flame_zoom(flame) : request_of(REQUEST_NONE);
	case REQUEST_NAMING:
		return view_naming_of(flame_selected(flame));
	case REQUEST_ANNOTATE:
		return view_annotation_of(flame_selected(flame));
	case REQUEST_BACK: /* the core ends the search first */
		return !model->search && flame_zoom_back(flame) ? request_of(REQUEST_UPDATE)
								: request;
	case REQUEST_BACK_OR_QUIT:
		return flame_zoom_back(flame) ? request_of(REQUEST_UPDATE) : request;
	case REQUEST_INVERT:
		flame->inverted = !flame->inverted;
		flame_show_all(flame);
		flame->key = 0;
		return request_of(REQUEST_UPDATE);
	case REQUEST_SEARCH_HERE:
	case REQUEST_SEARCH_NEXT:
	case REQUEST_SEARCH_PREVIOUS:
		return flame_search(flame, model, request.code) ? request_of(REQUEST_NONE)
								: request;
	default:
		return request;
	}
}

/* A click on the selected function zooms. */
static struct request flame_click(struct view *view, const struct ui_model *model, int row,
				  int column)
{
	struct view_flame *flame = view_flame(view);
	int depth = row - flame->first_row + flame->top;

	(void)model;
	if (!flame->current || row < flame->first_row || row >= flame->first_row + flame->rows)
		return request_of(REQUEST_NONE);
	for (size_t i = 0; i < flame->flame.n; i++) {
		const struct flame_cell *cell = &flame->flame.cells[i];

		if (cell->depth != depth || column < cell->x || column >= cell->x + cell->width)
			continue;
		if (i == flame->selected)
			return flame_zoom(flame);
		flame_select(flame, i);
		break;
	}
	return request_of(REQUEST_NONE);
}

static void flame_view_deinit(struct view *view)
{
	flame_deinit(&view_flame(view)->flame);
}

/* clang-format off */
static const struct key flame_keys[] = {
	{ KEYS_MOVE, { INPUT_LEFT }, .request = REQUEST_LEFT,
	  .names = "Left Right", .help = "to the function beside" },
	{ KEYS_MOVE, { INPUT_RIGHT, 'l' }, .request = REQUEST_RIGHT },
	{ KEYS_PAGE, { INPUT_PAGE_UP, INPUT_PAGE_DOWN }, .request = REQUEST_NONE },
	{ KEYS_OPEN, { INPUT_ENTER, '\n' }, .request = REQUEST_OPEN,
	  .names = "Enter", .help = "zoom: it fills the width" },
	{ KEYS_SHOW, { 'X' }, .request = REQUEST_INLINED,
	  .names = "X", .help = "inlined functions, or not" },
};
/* clang-format on */

const struct view_ops flame_ops = {
	.name = "the flame graph",
	.size = sizeof(struct view_flame),
	.traits = VIEW_GUEST | VIEW_FUNCTIONS | VIEW_SEARCHED | VIEW_INVERTS | VIEW_FOLDS |
		  VIEW_ENDS_SEARCH | VIEW_ENDS_RANGE | VIEW_BACK_BY_BACKSPACE,
	.opener = { KEYS_FLAME, { INPUT_F(7), 'f' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .names = "F7 f", .label = "Flame", .help = "flame graph", .opens = &flame_ops },
	.keys = flame_keys,
	.n_keys = sizeof(flame_keys) / sizeof(flame_keys[0]),
	.update = flame_update,
	.draw = flame_draw,
	.handle = flame_handle,
	.click = flame_click,
	.deinit = flame_view_deinit,
};
