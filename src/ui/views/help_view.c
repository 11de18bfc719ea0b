/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The help: the keys that work in the view it was opened from, as the key table has them. */
#include "config.h"

#include "ui/keys.h"
#include "ui/view.h"

#define HELP_NAME_CELLS  12
#define HELP_TWO_COLUMNS 76 /* from this width on */

struct view_help {
	struct view view;
	struct list list;
	const struct view_ops *ops; /* of the view to explain */
};

static struct view_help *view_help(struct view *view)
{
	return (struct view_help *)view;
}

/* Key INDEX of those to explain; NULL behind the last. */
static const struct key *help_key(const struct view_help *help, size_t index)
{
	for (size_t i = 0; i < n_keys; i++)
		if (keys[i].help && (keys[i].views & help->ops->mask) && !index--)
			return &keys[i];
	return NULL;
}

static size_t help_count(const struct view_help *help)
{
	size_t n = 0;

	while (help_key(help, n))
		n++;
	return n;
}

static void help_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		      struct area area)
{
	struct view_help *help = view_help(view);
	size_t n = help_count(help), page = area.rows > 1 ? (size_t)area.rows - 1 : 0;
	int per_line = n > page && area.columns >= HELP_TWO_COLUMNS ? 2 : 1,
	    width = area.columns / per_line;
	size_t lines = (n + (size_t)per_line - 1) / (size_t)per_line;
	const struct key *key;

	(void)model;
	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_put(canvas, area.row, 1, 8, STYLE_HEADER, "Keys in ");
	canvas_put_name(canvas, area.row, 9, area.columns - 9 - 12, STYLE_HEADER, help->ops->name);
	if (help->ops->mask & VIEW_GUEST && area.columns >= HELP_TWO_COLUMNS)
		canvas_put_right(canvas, area.row, area.columns - 12 - 29, 28, STYLE_HEADER,
				 "minutes: ⣶ steal, ! stopped");
	list_scroll(&help->list, lines, page);
	if (help->list.top + page < lines)
		canvas_put_right(canvas, area.row, area.columns - 12, 11, STYLE_HEADER,
				 area.columns < 60 ? "more" : "more below");
	for (size_t line = 0; line < page; line++) {
		for (int part = 0; part < per_line; part++) {
			key = help_key(help, help->list.top + line + (size_t)part * lines);
			if (!key || (part == 0 && help->list.top + line >= lines))
				continue;
			canvas_put(canvas, area.row + 1 + (int)line, part * width + 1,
				   HELP_NAME_CELLS, STYLE_TITLE, key->names);
			canvas_put(canvas, area.row + 1 + (int)line,
				   part * width + 2 + HELP_NAME_CELLS, width - HELP_NAME_CELLS - 2,
				   STYLE_NORMAL, key->help);
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

const struct view_ops help_ops = {
	.mask = VIEW_HELP,
	.name = "the help",
	.size = sizeof(struct view_help),
	.init = help_init,
	.draw = help_draw,
	.handle = help_handle,
};
