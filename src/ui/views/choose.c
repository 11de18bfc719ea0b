/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chooser of views: those that a key of the key table opens, with the key. Opening one asks
 * for what its key would.
 */
#include "config.h"

#include <stdlib.h>

#include "ui/core.h"
#include "ui/list.h"

#define CHOOSE_NAME_CELLS 10

static const enum request choices[] = {
	REQUEST_VIEW_TOP,    REQUEST_VIEW_TREE,     REQUEST_VIEW_FLAME, REQUEST_VIEW_VCPUS,
	REQUEST_VIEW_GROUPS, REQUEST_VIEW_OVERHEAD, REQUEST_BASELINE,   REQUEST_VIEW_DOMAINS,
};
#define N_CHOICES (sizeof(choices) / sizeof(choices[0]))

struct view_choose {
	struct view view;
	struct list list;
	int first_row;
};

static struct view_choose *view_choose(struct view *view)
{
	return (struct view_choose *)view;
}

static struct xtop_error *choose_update(struct view *view, const struct ui_model *model)
{
	struct view_choose *choose = view_choose(view);

	(void)model;
	list_settle(&choose->list, N_CHOICES, choose->list.selected);
	return NULL;
}

static const struct key *choose_key(enum request request)
{
	for (size_t i = 0; i < n_keys; i++)
		if (keys[i].request == request && keys[i].help)
			return &keys[i];
	return NULL;
}

static void choose_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			struct area area)
{
	struct view_choose *choose = view_choose(view);
	size_t page = area.rows > 1 ? (size_t)area.rows - 1 : 0;

	(void)model;
	choose->first_row = area.row + 1;
	choose->list.n = N_CHOICES;
	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_put(canvas, area.row, 1, area.columns, STYLE_HEADER, "Views, and the keys to them");
	list_show(&choose->list, page);
	for (size_t i = 0; i < page && choose->list.top + i < N_CHOICES; i++) {
		const struct key *key = choose_key(choices[choose->list.top + i]);
		int row = choose->first_row + (int)i;

		canvas_put(canvas, row, 2, CHOOSE_NAME_CELLS, STYLE_TITLE, key->names);
		canvas_put(canvas, row, 2 + CHOOSE_NAME_CELLS, area.columns - 2 - CHOOSE_NAME_CELLS,
			   STYLE_NORMAL, key->help);
		if (choose->list.top + i == choose->list.selected)
			view_mark_row(canvas, row, 0, area.columns);
	}
}

static bool choose_request(struct view *view, struct ui *ui, enum request request)
{
	struct view_choose *choose = view_choose(view);

	if (list_request(&choose->list, request))
		return true;
	if (request != REQUEST_OPEN)
		return false;
	request = choices[choose->list.selected];
	ui_dispatch_request(ui, REQUEST_BACK); /* destroys this view */
	ui_dispatch_request(ui, request);
	return true;
}

static void choose_click(struct view *view, struct ui *ui, int row, int column)
{
	struct view_choose *choose = view_choose(view);

	(void)column;
	if (list_click(&choose->list, row - choose->first_row) != LIST_MISSED)
		choose_request(view, ui, REQUEST_OPEN);
}

static void choose_destroy(struct view *view)
{
	free(view);
}

static const struct view_ops choose_ops = {
	.mask = VIEW_CHOOSE,
	.name = "the list of views",
	.update = choose_update,
	.draw = choose_draw,
	.request = choose_request,
	.click = choose_click,
	.destroy = choose_destroy,
};

struct view *view_choose_create(void)
{
	struct view_choose *choose = calloc(1, sizeof(*choose));

	if (!choose)
		return NULL;
	choose->view.ops = &choose_ops;
	return &choose->view;
}
