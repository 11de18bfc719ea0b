/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call tree: from the outermost functions inwards, or inverted, from the functions that take
 * the time outwards to who calls them. Folded rows say so with a plus; branches below the threshold
 * share one row.
 */
#include "config.h"

#include <stdlib.h>

#include "ui/views/branch.h"
#include "ui/core.h"
#include "ui/list.h"

struct view_tree {
	struct view view;
	struct list list;
	struct call_tree_folds folds[2]; /* upright, inverted */
	struct call_tree tree;
	bool inverted, current;
	int first_row;
};

static struct view_tree *view_tree(struct view *view)
{
	return (struct view_tree *)view;
}

/* --- update ----------------------------------------------------------------------------------- */

static void tree_settle(struct view_tree *tree)
{
	size_t found = 0;

	while (tree->list.moved && found < tree->tree.n &&
	       tree->tree.lines[found].key != tree->list.key)
		found++;
	list_settle(&tree->list, tree->tree.n, found);
	if (tree->tree.n)
		tree->list.key = tree->tree.lines[tree->list.selected].key;
}

static struct call_tree_settings tree_settings(const struct view_tree *tree,
					       const struct ui_model *model)
{
	return (struct call_tree_settings){
		.kind = tree->inverted ? CALL_TREE_INVERTED : CALL_TREE_DOWN,
		.totals = model->totals,
		.addresses = model->addresses,
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
	struct xtop_error *error;

	call_tree_free(&tree->tree);
	error = call_tree_build(model->snapshot, &settings, &tree->tree);
	tree->current = !error;
	tree_settle(tree);
	return error;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void tree_draw_header(const struct view_tree *tree, const struct ui_model *model,
			     struct canvas *canvas, struct area area)
{
	char text[64];

	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_put_right(canvas, area.row, 1, 8, STYLE_HEADER,
			 tree->inverted ? "Share" : "Children");
	if (!tree->inverted)
		canvas_put_right(canvas, area.row, 11, 6, STYLE_HEADER, "Self");
	canvas_put(canvas, area.row, tree->inverted ? 11 : 19, area.columns, STYLE_HEADER,
		   tree->inverted ? "Call tree, from the innermost out" : "Call tree");
	snprintf(text, sizeof(text), "rows from %.4g %%%s ", model->threshold,
		 tree->tree.cut ? ", not all shown" : "");
	if (area.columns >= 72)
		canvas_put_right(canvas, area.row, area.columns / 2,
				 area.columns - area.columns / 2, STYLE_HEADER, text);
}

static void tree_draw_line(const struct view_tree *tree, const struct ui_model *model,
			   struct canvas *canvas, int row, size_t index, int columns_)
{
	const struct call_tree_line *line = &tree->tree.lines[index];
	double whole = weights_children(model, &model->whole);
	double children = percent_of(weights_children(model, &line->weights), whole),
	       self = percent_of(weights_self(model, &line->weights), whole);
	int column = tree->inverted ? 11 : 19, end;
	char text[32];

	view_put_share(canvas, row, 2, children);
	if (!tree->inverted && line->frame != FRAME_NONE) {
		snprintf(text, sizeof(text), "%6.2f", self);
		canvas_put(canvas, row, 11, 6, style_of_percent(self), text);
	}
	end = branch_draw(model, line, canvas, row, column,
			  columns_ - column - (columns_ >= 80 ? 10 : 1));
	if (line->frame != FRAME_NONE && columns_ >= 80 && end + 3 < columns_)
		canvas_put_name(canvas, row, end + 2, columns_ - end - 2, STYLE_DIM,
				frames_get(model->all->frames, line->frame)->module);
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

static void tree_set_open(struct view_tree *tree, struct ui *ui, bool open)
{
	const struct call_tree_line *line = tree_selected(tree);

	if (!call_tree_set_open(&tree->folds[tree->inverted], line->key, open)) {
		ui_message(ui, STYLE_NOTICE, "%d rows are open or closed: C closes all",
			   CALL_TREE_MAX_FOLDS);
		return;
	}
	list_select(&tree->list, tree->list.selected);
	ui_update(ui);
}

static void tree_unfold(struct view_tree *tree, struct ui *ui)
{
	const struct call_tree_line *line = tree_selected(tree);

	if (line && line->has_branches)
		tree_set_open(tree, ui, !line->open);
}

/* Closes the row, or when there is nothing to close goes to the row it is below of. */
static void tree_fold(struct view_tree *tree, struct ui *ui)
{
	const struct call_tree_line *line = tree_selected(tree);
	size_t row = tree->list.selected;

	if (!line)
		return;
	if (line->open) {
		tree_set_open(tree, ui, false);
		return;
	}
	if (line->straight && row) {
		row--;
	} else {
		while (row && tree->tree.lines[row].forks >= line->forks)
			row--;
		while (row && tree->tree.lines[row].straight &&
		       tree->tree.lines[row].forks >= line->forks)
			row--;
	}
	list_select(&tree->list, row);
	tree->list.key = tree->tree.lines[row].key;
}

static void tree_set_all(struct view_tree *tree, struct ui *ui, bool open)
{
	call_tree_set_all(&tree->folds[tree->inverted], open);
	list_select(&tree->list, tree->list.selected);
	ui_update(ui);
}

struct tree_search {
	const struct call_tree *tree;
	const struct ui_model *model;
};

static bool tree_matches(const void *context, size_t index)
{
	const struct tree_search *search = context;

	return view_matches(search->model, search->tree->lines[index].frame);
}

/* The line that line INDEX hangs on, INDEX for none: the one before, or the last fork's. */
static size_t tree_parent(const struct call_tree *tree, size_t index)
{
	const struct call_tree_line *lines = tree->lines;
	size_t at = index;

	while (at-- > 0)
		if (lines[index].straight || lines[at].forks < lines[index].forks)
			return at;
	return index;
}

/* Goes to the first match that closed branches hide, and opens those that lead there. */
static bool tree_search_closed(struct view_tree *tree, struct ui *ui)
{
	struct call_tree_settings settings = tree_settings(tree, &ui->model);
	struct call_tree all = { .n = 0 };
	struct tree_search search = { &all, &ui->model };
	size_t found = 0;
	bool any;

	settings.folds = NULL;
	error_destroy(call_tree_build(ui->model.snapshot, &settings, &all));
	while (found < all.n && !tree_matches(&search, found))
		found++;
	any = found < all.n;
	if (any) {
		list_select(&tree->list, tree->list.selected);
		tree->list.key = all.lines[found].key;
		for (size_t at = found, up; (up = tree_parent(&all, at)) != at; at = up)
			call_tree_set_open(&tree->folds[tree->inverted], all.lines[up].key, true);
		ui_update(ui);
	}
	call_tree_free(&all);
	return any;
}

static bool tree_search(struct view_tree *tree, struct ui *ui, enum request request)
{
	struct tree_search search = { &tree->tree, &ui->model };

	if (!ui->model.search || !tree->current)
		return false;
	if (!list_search(&tree->list, request, tree_matches, &search))
		return request != REQUEST_SEARCH_HERE && tree_search_closed(tree, ui);
	tree->list.key = tree->tree.lines[tree->list.selected].key;
	return true;
}

static bool tree_request(struct view *view, struct ui *ui, enum request request)
{
	struct view_tree *tree = view_tree(view);
	const struct call_tree_line *line = tree_selected(tree);

	if (list_request(&tree->list, request)) {
		if (tree->tree.n)
			tree->list.key = tree->tree.lines[tree->list.selected].key;
		return true;
	}
	switch ((int)request) {
	case REQUEST_OPEN:
		if (line && line->frame != FRAME_NONE)
			ui_push(ui, view_callers_create(line->frame));
		return true;
	case REQUEST_UNFOLD:
		tree_unfold(tree, ui);
		return true;
	case REQUEST_FOLD:
		tree_fold(tree, ui);
		return true;
	case REQUEST_UNFOLD_ALL:
		tree_set_all(tree, ui, true);
		return true;
	case REQUEST_FOLD_ALL:
		tree_set_all(tree, ui, false);
		return true;
	case REQUEST_INVERT:
		tree->inverted = !tree->inverted;
		tree->list = (struct list){ .n = 0 };
		ui_update(ui);
		return true;
	case REQUEST_SEARCH_HERE:
	case REQUEST_SEARCH_NEXT:
	case REQUEST_SEARCH_PREVIOUS:
		return tree_search(tree, ui, request);
	default:
		return false;
	}
}

/* A click on the row that is selected opens or closes it. */
static void tree_click(struct view *view, struct ui *ui, int row, int column)
{
	struct view_tree *tree = view_tree(view);
	enum list_click click = list_click(&tree->list, row - tree->first_row);

	(void)column;
	if (click == LIST_OPENED)
		tree_unfold(tree, ui);
	else if (click == LIST_SELECTED)
		tree->list.key = tree->tree.lines[tree->list.selected].key;
}

static void tree_destroy(struct view *view)
{
	call_tree_free(&view_tree(view)->tree);
	free(view);
}

static const struct view_ops tree_ops = {
	.mask = VIEW_TREE,
	.name = "the call tree",
	.update = tree_update,
	.draw = tree_draw,
	.request = tree_request,
	.click = tree_click,
	.destroy = tree_destroy,
};

struct view *view_tree_create(bool inverted)
{
	struct view_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->view.ops = &tree_ops;
	tree->inverted = inverted;
	return &tree->view;
}
