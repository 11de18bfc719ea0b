/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The help: the keys that work in the view below. */
#include "config.h"

#include "ui/keys.h"
#include "ui/view.h"

#define HELP_NAME_CELLS  12
#define HELP_TWO_COLUMNS 76 /* width from which on there are two columns */

struct view_help {
	struct view view;
	struct list list;
	const struct view_ops *ops; /* the view to explain */
};

static struct view_help *view_help(struct view *view)
{
	return (struct view_help *)view;
}

/* Lists the keys that have a line. Returns how many. */
static size_t help_list(const struct view_help *help, const struct key *list[KEYS_MAX])
{
	size_t n_all = keys_list(help->ops, list), n = 0;

	for (size_t i = 0; i < n_all; i++)
		if (list[i]->help)
			list[n++] = list[i];
	return n;
}

static void help_draw_key(const struct key *key, struct canvas *canvas, int row, int column,
			  int width)
{
	canvas_put(canvas, row, column + 1, HELP_NAME_CELLS, STYLE_TITLE, key->names);
	canvas_put(canvas, row, column + 2 + HELP_NAME_CELLS, width - HELP_NAME_CELLS - 2,
		   STYLE_NORMAL, key->help);
}

static void help_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		      struct area area)
{
	struct view_help *help = view_help(view);
	const struct key *keys[KEYS_MAX];
	size_t n = help_list(help, keys), page = area.rows > 1 ? (size_t)area.rows - 1 : 0;
	int per_line = n > page && area.columns >= HELP_TWO_COLUMNS ? 2 : 1,
	    width = area.columns / per_line;
	size_t lines = (n + (size_t)per_line - 1) / (size_t)per_line;

	(void)model;
	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_put(canvas, area.row, 1, 8, STYLE_HEADER, "Keys in ");
	canvas_put_name(canvas, area.row, 9, area.columns - 9 - 12, STYLE_HEADER, help->ops->name);
	if (help->ops->traits & VIEW_GUEST && area.columns >= HELP_TWO_COLUMNS)
		canvas_put_right(canvas, area.row, area.columns - 12 - 29, 28, STYLE_HEADER,
				 "minutes: ⣶ steal, ! stopped");
	list_scroll(&help->list, lines, page);
	if (help->list.top + page < lines)
		canvas_put_right(canvas, area.row, area.columns - 12, 11, STYLE_HEADER,
				 area.columns < 60 ? "more" : "more below");
	for (size_t line = 0; line < page; line++) {
		for (int part = 0; part < per_line; part++) {
			size_t index = help->list.top + line + (size_t)part * lines;

			if (index < n && (part > 0 || index < lines))
				help_draw_key(keys[index], canvas, area.row + 1 + (int)line,
					      part * width, width);
		}
	}
}

static struct request help_handle(struct view *view, const struct ui_model *model,
				  struct request request)
{
	(void)model;
	return list_request(&view_help(view)->list, request.code) ? request_of(REQUEST_NONE)
								  : request;
}

static void help_init(struct view *view, const struct view *below, uint32_t frame)
{
	(void)frame;
	view_help(view)->ops = below->ops;
}

/* clang-format off */
static const struct key help_keys[] = {
	{ KEYS_BACK, { INPUT_F(1), 'h', '?', INPUT_ENTER }, .request = REQUEST_BACK },
};
/* clang-format on */

const struct view_ops help_ops = {
	.name = "the help",
	.size = sizeof(struct view_help),
	.traits = VIEW_PASSING,
	.opener = { KEYS_FIND, { INPUT_F(1), 'h', '?' }, .request = REQUEST_VIEW,
		    .names = "F1 h ?", .label = "Help", .help = "this help", .opens = &help_ops },
	.keys = help_keys,
	.n_keys = sizeof(help_keys) / sizeof(help_keys[0]),
	.init = help_init,
	.draw = help_draw,
	.handle = help_handle,
};
