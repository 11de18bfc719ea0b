/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report of --crash: the kernel's log, then the stacks of vCPUs and tasks. The view opens at
 * the end of the log, where a kernel says why it has stopped. Tab goes to the next part.
 */
#include "config.h"

#include <string.h>

#include "ui/view.h"
#include "xtop/profile/crash.h"

#define CRASH_SHIFT 16 /* characters by which Left and Right move the text */

struct view_crash {
	struct view view;
	struct list list;
	bool opened; /* the cursor has been put at the end of the log */
	size_t parts[N_CRASH_PARTS];
	unsigned shift; /* number of characters cut off on the left */
	int first_row;
};

static struct view_crash *view_crash(struct view *view)
{
	return (struct view_crash *)view;
}

static const struct crash_report *crash_of(const struct ui_model *model)
{
	return model->all ? model->all->crash : NULL;
}

/* The report may come late, but never changes. */
static struct xtop_error *crash_update(struct view *view, const struct ui_model *model)
{
	struct view_crash *crash = view_crash(view);
	const struct crash_report *report = crash_of(model);

	list_update(&crash->list, report ? report->n_lines : 0, NULL, NULL);
	if (!report || crash->opened)
		return NULL;
	crash->opened = true;
	memcpy(crash->parts, report->parts, sizeof(crash->parts));
	if (report->parts[CRASH_VCPUS])
		list_select(&crash->list, report->parts[CRASH_VCPUS] - 1);
	return NULL;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* TEXT, which is valid UTF-8, without the first N characters. */
static const char *crash_skip(const char *text, unsigned n)
{
	while (n-- > 0 && *text)
		do
			text++;
		while ((*text & 0xc0) == 0x80);
	return text;
}

static enum style crash_row_style(const struct ui_model *model, const struct crash_report *report,
				  size_t index)
{
	if (model->search && filter_matches_text(model->search, crash_get_line(report, index)))
		return STYLE_MATCH;
	switch ((enum crash_kind)report->lines[index].kind) {
	case CRASH_HEADING:
		return STYLE_TITLE;
	case CRASH_OWNER:
		return STYLE_NOTICE;
	case CRASH_LINE:
	case CRASH_DETAIL:
		break;
	}
	return STYLE_NORMAL;
}

static void crash_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		       struct area area)
{
	struct view_crash *crash = view_crash(view);
	const struct crash_report *report = crash_of(model);
	size_t page = area.rows > 1 ? (size_t)area.rows - 1 : 0;

	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	crash->first_row = area.row + 1;
	if (!report) {
		canvas_put(canvas, area.row + area.rows / 3 + 1, 2, area.columns - 2, STYLE_NORMAL,
			   "No report yet: only xtop --crash makes one.");
		return;
	}
	canvas_printf(canvas, area.row, 1, STYLE_HEADER, "The guest %s: line %zu of %zu%s",
		      crash_get_state(&snapshot_get_run(model->all)->sampler),
		      crash->list.selected + 1, report->n_lines,
		      report->is_full ? ", and there was no room for more" : "");
	list_show(&crash->list, page);
	for (size_t i = 0; i < page && crash->list.top + i < report->n_lines; i++) {
		size_t index = crash->list.top + i;
		int row = crash->first_row + (int)i;

		canvas_put(canvas, row, 1, area.columns - 1, crash_row_style(model, report, index),
			   crash_skip(crash_get_line(report, index), crash->shift));
		if (index == crash->list.selected)
			view_mark_row(canvas, row, 0, area.columns);
	}
}

/* --- requests --------------------------------------------------------------------------------- */

/* Moves to the heading of the next part, and from the last part to the first. */
static void crash_next_part(struct view_crash *crash)
{
	size_t next = crash->parts[0];

	for (unsigned i = 0; i < N_CRASH_PARTS; i++)
		if (crash->parts[i] > crash->list.selected) {
			next = crash->parts[i];
			break;
		}
	list_select(&crash->list, next);
	crash->list.top = next; /* the part begins on the first line */
}

static bool crash_row_matches(const void *context, size_t row)
{
	const struct ui_model *model = context;

	return filter_matches_text(model->search, crash_get_line(crash_of(model), row));
}

static struct request crash_search(struct list *list, const struct ui_model *model,
				   struct request request)
{
	if (!model->search || !crash_of(model) ||
	    !list_search(list, request.code, crash_row_matches, model))
		return request;
	return request_of(REQUEST_NONE);
}

static struct request crash_handle(struct view *view, const struct ui_model *model,
				   struct request request)
{
	struct view_crash *crash = view_crash(view);

	if (list_request(&crash->list, request.code))
		return request_of(REQUEST_NONE);
	switch ((int)request.code) {
	case REQUEST_SWITCH:
		crash_next_part(crash);
		return request_of(REQUEST_NONE);
	case REQUEST_SEARCH_HERE:
	case REQUEST_SEARCH_NEXT:
	case REQUEST_SEARCH_PREVIOUS:
		return crash_search(&crash->list, model, request);
	case REQUEST_LEFT:
		crash->shift -= crash->shift < CRASH_SHIFT ? crash->shift : CRASH_SHIFT;
		return request_of(REQUEST_NONE);
	case REQUEST_RIGHT:
		crash->shift += crash->shift < CRASH_SHIFT * 255 ? CRASH_SHIFT : 0;
		return request_of(REQUEST_NONE);
	default:
		return request;
	}
}

static struct request crash_click(struct view *view, const struct ui_model *model, int row,
				  int column)
{
	struct view_crash *crash = view_crash(view);

	(void)model;
	(void)column;
	list_click(&crash->list, row - crash->first_row);
	return request_of(REQUEST_NONE);
}

/* clang-format off */
static const struct key crash_keys[] = {
	{ KEYS_MOVE, { INPUT_LEFT }, .request = REQUEST_LEFT,
	  .names = "Left Right", .help = "the rest of long lines" },
	{ KEYS_MOVE, { INPUT_RIGHT, 'l' }, .request = REQUEST_RIGHT },
	{ KEYS_SWITCH, { INPUT_TAB }, .request = REQUEST_SWITCH,
	  .names = "Tab", .label = "Next", .help = "to the vCPUs, the tasks, the log" },
};
/* clang-format on */

const struct view_ops crash_ops = {
	.name = "the report of --crash",
	.size = sizeof(struct view_crash),
	.traits = VIEW_SEARCHED | VIEW_ENDS_SEARCH | VIEW_ENDS_RANGE | VIEW_BACK_BY_BACKSPACE,
	.opener = { KEYS_VIEWS, { 'R' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .opens = &crash_ops },
	.keys = crash_keys,
	.n_keys = sizeof(crash_keys) / sizeof(crash_keys[0]),
	.update = crash_update,
	.draw = crash_draw,
	.handle = crash_handle,
	.click = crash_click,
};
