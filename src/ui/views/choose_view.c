/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of views to choose from: every view with a key of its own. Choosing a view does
 * what its key does.
 */
#include "config.h"

#include "ui/view.h"
#include "ui/views/views.h"

#define CHOOSE_NAME_CELLS 10

struct view_choose {
	struct view view;
	struct list list;
	int first_row;
};

static struct view_choose *view_choose(struct view *view)
{
	return (struct view_choose *)view;
}

/* The key that opens choice INDEX, in the order of views.c; NULL after the last one. */
static const struct key *choose_key(size_t index)
{
	for (size_t i = 0; i < n_all_views; i++)
		if (all_views[i]->opener.help && !(all_views[i]->traits & VIEW_PASSING) && !index--)
			return &all_views[i]->opener;
	return NULL;
}

static void choose_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			struct area area)
{
	struct view_choose *choose = view_choose(view);
	size_t page = area.rows > 1 ? (size_t)area.rows - 1 : 0;

	(void)model;
	choose->first_row = area.row + 1;
	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_put(canvas, area.row, 1, area.columns, STYLE_HEADER, "Views, and the keys to them");
	list_show(&choose->list, page);
	for (size_t i = 0; i < page && choose->list.top + i < choose->list.n; i++) {
		const struct key *key = choose_key(choose->list.top + i);
		int row = choose->first_row + (int)i;

		canvas_put(canvas, row, 2, CHOOSE_NAME_CELLS, STYLE_TITLE, key->names);
		canvas_put(canvas, row, 2 + CHOOSE_NAME_CELLS, area.columns - 2 - CHOOSE_NAME_CELLS,
			   STYLE_NORMAL, key->help);
		if (choose->list.top + i == choose->list.selected)
			view_mark_row(canvas, row, 0, area.columns);
	}
}

static struct request choose_open(const struct view_choose *choose)
{
	return (struct request){ .code = REQUEST_CHOSEN,
				 .view = choose_key(choose->list.selected)->opens };
}

static struct request choose_handle(struct view *view, const struct ui_model *model,
				    struct request request)
{
	struct view_choose *choose = view_choose(view);

	(void)model;
	if (list_request(&choose->list, request.code))
		return request_of(REQUEST_NONE);
	return request.code == REQUEST_OPEN ? choose_open(choose) : request;
}

static struct request choose_click(struct view *view, const struct ui_model *model, int row,
				   int column)
{
	struct view_choose *choose = view_choose(view);

	(void)model;
	(void)column;
	return list_click(&choose->list, row - choose->first_row) == LIST_MISSED
		       ? request_of(REQUEST_NONE)
		       : choose_open(choose);
}

static void choose_init(struct view *view, const struct view *below, uint32_t frame)
{
	size_t n = 0;

	(void)below;
	(void)frame;
	while (choose_key(n))
		n++;
	list_update(&view_choose(view)->list, n, NULL, NULL);
}

/* clang-format off */
static const struct key choose_keys[] = {
	{ KEYS_OPEN, { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, .request = REQUEST_OPEN,
	  .names = "Enter", .label = "Open" },
	{ KEYS_BACK, { INPUT_F(2) }, .request = REQUEST_BACK },
};
/* clang-format on */

const struct view_ops choose_ops = {
	.name = "the list of views",
	.size = sizeof(struct view_choose),
	.traits = VIEW_PASSING,
	.opener = { KEYS_FIND, { INPUT_F(2) }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .names = "F2", .label = "View", .help = "choose a view", .opens = &choose_ops },
	.keys = choose_keys,
	.n_keys = sizeof(choose_keys) / sizeof(choose_keys[0]),
	.init = choose_init,
	.draw = choose_draw,
	.handle = choose_handle,
	.click = choose_click,
};
