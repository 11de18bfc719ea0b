/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call tree, from the outermost functions inwards; inverted, from the innermost functions
 * outwards. A plus marks a row that can be opened. Branches below the threshold share one row.
 */
#include "config.h"

#include <stdio.h>

#include "ui/views/branch.h"
#include "ui/views/views.h"

struct view_tree {
	struct view view;
	struct list list;
	struct call_tree_folds folds[2]; /* rows opened and closed; [1]: of the inverted tree */
	struct call_tree tree;
	struct weights base_whole; /* what 100 % of the baseline is */
	bool compared;             /* there is a baseline */
	bool inverted, current;
	int first_row;
};

static struct view_tree *view_tree(struct view *view)
{
	return (struct view_tree *)view;
}

/* --- update ----------------------------------------------------------------------------------- */

static uint64_t tree_key(const void *context, size_t row)
{
	const struct call_tree *tree = context;

	return row < tree->n ? tree->lines[row].key : FRAME_NONE;
}

static struct call_tree_settings tree_settings(const struct view_tree *tree,
					       const struct ui_model *model)
{
	return (struct call_tree_settings){
		.kind = tree->inverted ? CALL_TREE_INVERTED : CALL_TREE_DOWN,
		.totals = model->shares.totals,
		.addresses = model->names.addresses,
		.threshold = model->threshold / 100,
		.folds = &tree->folds[tree->inverted],
		.max_lines = CALL_TREE_MAX_LINES,
		.max_forks = CALL_TREE_MAX_FORKS,
	};
}

static struct xtop_error *tree_update(struct view *view, const struct ui_model *model)
{
	struct view_tree *tree = view_tree(view);
	struct call_tree_settings settings = tree_settings(tree, model);
	struct snapshot base;
	struct xtop_error *error;

	call_tree_deinit(&tree->tree);
	settings.base = view_open_folded_baseline(model, &base, &tree->base_whole);
	tree->compared = settings.base;
	error = call_tree_build(model->folded, &settings, &tree->tree);
	if (settings.base)
		view_close_baseline(model, &base);
	tree->current = !error;
	list_update(&tree->list, tree->tree.n, tree_key, &tree->tree);
	return error;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* The first column of the tree. */
static int tree_column(const struct view_tree *tree)
{
	return tree->compared ? 20 : tree->inverted ? 11 : 19;
}

static void tree_draw_header(const struct view_tree *tree, const struct ui_model *model,
			     struct canvas *canvas, struct area area)
{
	char text[64];

	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_put_right(canvas, area.row, 1, 8, STYLE_HEADER,
			 tree->inverted ? "Share" : "Children");
	if (tree->compared)
		canvas_put_right(canvas, area.row, 11, 7, STYLE_HEADER, "Delta");
	else if (!tree->inverted)
		canvas_put_right(canvas, area.row, 11, 6, STYLE_HEADER, "Self");
	canvas_put(canvas, area.row, tree_column(tree), area.columns, STYLE_HEADER,
		   tree->inverted ? "Call tree, from the innermost out" : "Call tree");
	snprintf(text, sizeof(text), "rows from %.4g %%%s ", model->threshold,
		 tree->tree.cut ? ", not all shown" : "");
	if (area.columns >= 72)
		canvas_put_right(canvas, area.row, area.columns / 2,
				 area.columns - area.columns / 2, STYLE_HEADER, text);
}

/* Puts the source line of a function, or else the module. */
static void tree_put_origin(const struct ui_model *model, uint32_t frame, struct canvas *canvas,
			    int row, int column, int columns_)
{
	const char *source = view_frame_source(model, frame);

	canvas_put_name(canvas, row, column, columns_ - column, STYLE_DIM,
			*source ? source
				: frames_get_home(model->all->frames,
						  frames_get(model->all->frames, frame)));
}

static void tree_draw_line(const struct view_tree *tree, const struct ui_model *model,
			   struct canvas *canvas, int row, size_t index, int columns_)
{
	const struct call_tree_line *line = &tree->tree.lines[index];
	double whole = weights_children(model, &model->whole);
	double children = percent_of(weights_children(model, &line->weights), whole),
	       self = percent_of(weights_self(model, &line->weights), whole);
	double points = children - percent_of(weights_children(model, &line->base),
					      weights_children(model, &tree->base_whole));
	int column = tree_column(tree), end;
	char text[32];

	if (tree->compared) {
		view_put_changed(canvas, row, 2, children, points);
		snprintf(text, sizeof(text), "%+7.2f", points);
		canvas_put(canvas, row, 11, 7, style_of_change(points), text);
	} else {
		view_put_share(canvas, row, 2, children);
	}
	if (!tree->compared && !tree->inverted && line->frame != FRAME_NONE) {
		snprintf(text, sizeof(text), "%6.2f", self);
		canvas_put(canvas, row, 11, 6, style_of_percent(self), text);
	}
	end = branch_draw(model, line, canvas, row, column,
			  columns_ - column - (columns_ >= 80 ? 10 : 1));
	if (line->frame != FRAME_NONE && columns_ >= 80 && end + 3 < columns_)
		tree_put_origin(model, line->frame, canvas, row, end + 2, columns_);
	if (index == tree->list.selected)
		view_mark_row(canvas, row, 0, columns_);
}

static void tree_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		      struct area area)
{
	struct view_tree *tree = view_tree(view);
	size_t page = area.rows > 1 ? (size_t)area.rows - 1 : 0;

	tree->first_row = area.row + 1;
	tree_draw_header(tree, model, canvas, area);
	if (!model->snapshot || !tree->current || !tree->tree.n) {
		view_draw_empty(model, canvas, area);
		return;
	}
	list_show(&tree->list, page);
	for (size_t i = 0; i < page && tree->list.top + i < tree->tree.n; i++)
		tree_draw_line(tree, model, canvas, tree->first_row + (int)i, tree->list.top + i,
			       area.columns);
}

/* --- requests --------------------------------------------------------------------------------- */

static const struct call_tree_line *tree_selected(const struct view_tree *tree)
{
	return tree->tree.n ? &tree->tree.lines[tree->list.selected] : NULL;
}

static struct request tree_set_open(struct view_tree *tree, bool open)
{
	const struct call_tree_line *line = tree_selected(tree);

	if (!call_tree_set_open(&tree->folds[tree->inverted], line->key, open))
		return view_message("%d rows were opened or closed one by one: C closes all",
				    CALL_TREE_MAX_FOLDS);
	list_select(&tree->list, tree->list.selected);
	return request_of(REQUEST_UPDATE);
}

static struct request tree_toggle(struct view_tree *tree)
{
	const struct call_tree_line *line = tree_selected(tree);

	return line && line->has_branches ? tree_set_open(tree, !line->open)
					  : request_of(REQUEST_NONE);
}

/*
 * The parent of line INDEX: the line above, or the line of the last fork. INDEX if there is none.
 */
static size_t tree_parent(const struct call_tree *tree, size_t index)
{
	const struct call_tree_line *lines = tree->lines;
	size_t at = index;

	while (at-- > 0)
		if (lines[index].straight || lines[at].forks < lines[index].forks)
			return at;
	return index;
}

/* Closes the selected row. If it is not open, selects its parent. */
static struct request tree_fold(struct view_tree *tree)
{
	const struct call_tree_line *line = tree_selected(tree);
	size_t row = tree->list.selected, parent;

	if (!line)
		return request_of(REQUEST_NONE);
	if (line->open)
		return tree_set_open(tree, false);
	parent = tree_parent(&tree->tree, row);
	list_select(&tree->list, parent == row ? 0 : parent);
	return request_of(REQUEST_NONE);
}

static struct request tree_set_all(struct view_tree *tree, bool open)
{
	call_tree_set_all(&tree->folds[tree->inverted], open);
	list_select(&tree->list, tree->list.selected);
	return request_of(REQUEST_UPDATE);
}

static uint32_t tree_frame(const void *context, size_t row)
{
	return ((const struct call_tree *)context)->lines[row].frame;
}

/*
 * Searches closed branches, and opens those that lead to a match. The update then finds the line by
 * its key. Returns false if nothing matches.
 */
static bool tree_search_closed(struct view_tree *tree, const struct ui_model *model)
{
	struct call_tree_settings settings = tree_settings(tree, model);
	struct call_tree all = { .n = 0 };
	size_t found = 0;
	bool any;

	settings.folds = NULL;
	error_destroy(call_tree_build(model->folded, &settings, &all));
	while (found < all.n && !view_matches(model, all.lines[found].frame))
		found++;
	any = found < all.n;
	if (any) {
		list_select(&tree->list, tree->list.selected);
		tree->list.key = all.lines[found].key;
		for (size_t at = found, up; (up = tree_parent(&all, at)) != at; at = up)
			call_tree_set_open(&tree->folds[tree->inverted], all.lines[up].key, true);
	}
	call_tree_deinit(&all);
	return any;
}

/* Searches closed branches, too, except while the user types. */
static struct request tree_search(struct view_tree *tree, const struct ui_model *model,
				  struct request request)
{
	struct request left;

	if (!model->search || !model->snapshot || !tree->current)
		return request;
	left = view_search(&tree->list, model, request, tree_frame);
	if (left.code == REQUEST_NONE || request.code == REQUEST_SEARCH_HERE)
		return left;
	return tree_search_closed(tree, model) ? request_of(REQUEST_UPDATE) : request;
}

static struct request tree_handle(struct view *view, const struct ui_model *model,
				  struct request request)
{
	struct view_tree *tree = view_tree(view);

	switch ((int)request.code) {
	case REQUEST_ANNOTATE:
		return view_annotation_of(view_selected(&tree->list, tree_frame));
	case REQUEST_UNFOLD:
		return tree_toggle(tree);
	case REQUEST_FOLD:
		return tree_fold(tree);
	case REQUEST_UNFOLD_ALL:
		return tree_set_all(tree, true);
	case REQUEST_FOLD_ALL:
		return tree_set_all(tree, false);
	case REQUEST_INVERT:
		tree->inverted = !tree->inverted;
		tree->list = (struct list){ .n = 0 };
		return request_of(REQUEST_UPDATE);
	case REQUEST_SEARCH_HERE:
	case REQUEST_SEARCH_NEXT:
	case REQUEST_SEARCH_PREVIOUS:
		return tree_search(tree, model, request);
	default:
		return view_handle_list(&tree->list, model, request, tree_frame);
	}
}

/* A click on the selected row opens or closes it. */
static struct request tree_click(struct view *view, const struct ui_model *model, int row,
				 int column)
{
	struct view_tree *tree = view_tree(view);

	(void)model;
	(void)column;
	return list_click(&tree->list, row - tree->first_row) == LIST_OPENED
		       ? tree_toggle(tree)
		       : request_of(REQUEST_NONE);
}

static void tree_deinit(struct view *view)
{
	call_tree_deinit(&view_tree(view)->tree);
}

/* clang-format off */
static const struct key tree_keys[] = {
	{ KEYS_OPEN, { INPUT_ENTER, '\n' }, .request = REQUEST_OPEN,
	  .names = "Enter", .help = "callers and callees of it" },
	{ KEYS_UNFOLD, { '+', '=', 'e', INPUT_RIGHT }, .request = REQUEST_UNFOLD,
	  .names = "+ e Right", .help = "open or close it" },
	{ KEYS_UNFOLD, { 'l' }, .request = REQUEST_UNFOLD },
	{ KEYS_UNFOLD, { '-', 'c', INPUT_LEFT }, .request = REQUEST_FOLD,
	  .names = "- c Left", .help = "close it; or to its caller" },
	{ KEYS_UNFOLD, { 'E', '*' }, .request = REQUEST_UNFOLD_ALL,
	  .names = "E C", .help = "open all, close all" },
	{ KEYS_UNFOLD, { 'C' }, .request = REQUEST_FOLD_ALL },
	{ KEYS_UNFOLD, { 'L' }, .request = REQUEST_THRESHOLD,
	  .names = "L", .help = "least share to have a row" },
	/* Without L, which opens the locks in other views: here it asks for the least share. */
	{ KEYS_PROFILE, { 'v' }, .request = REQUEST_VIEW,
	  .names = "v p W", .help = "vCPUs; processes; waits", .opens = &vcpus_ops },
};
/* clang-format on */

const struct view_ops tree_ops = {
	.name = "the call tree",
	.size = sizeof(struct view_tree),
	.traits = VIEW_GUEST | VIEW_FUNCTIONS | VIEW_SEARCHED | VIEW_INVERTS | VIEW_FOLDS |
		  VIEW_SOURCES | VIEW_ENDS_SEARCH | VIEW_ENDS_RANGE | VIEW_BACK_BY_BACKSPACE,
	.opener = { KEYS_TREE, { INPUT_F(5), 't' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .names = "F5 t", .label = "Tree", .help = "call tree", .opens = &tree_ops },
	.keys = tree_keys,
	.n_keys = sizeof(tree_keys) / sizeof(tree_keys[0]),
	.update = tree_update,
	.draw = tree_draw,
	.handle = tree_handle,
	.click = tree_click,
	.deinit = tree_deinit,
};
