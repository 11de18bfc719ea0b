/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where tasks wait: process and thread, function, kind of wait, number of tasks now and on average,
 * and the longest wait. Enter opens the callers of the function. Threads that wait for work are
 * idle; they are hidden until the user asks for them.
 */
#include "config.h"

#include <stdio.h>

#include "ui/figures.h"
#include "ui/view.h"
#include "xtop/query/waits.h"

#define NARROW    70 /* columns below which process and state are left out */
#define WHO_CELLS 20

/* First cells of the columns. */
enum { AT_NOW = 1, AT_MEAN = 6, AT_LONGEST = 15, AT_STATE = 26, AT_FOR = 30, AT_WHO = 42 };

struct view_waits {
	struct view view;
	struct waits_table table;
	struct waits_idle idle; /* the hidden tasks */
	enum waits_order order;
	bool chosen; /* the user chose ORDER */
	struct list list;
	int first_row;
};

static struct view_waits *view_waits(struct view *view)
{
	return (struct view_waits *)view;
}

/* --- update ----------------------------------------------------------------------------------- */

static uint64_t waits_key(const void *context, size_t row)
{
	const struct waits_table *table = context;
	const struct waits_row *wait;

	if (row >= table->n)
		return UINT64_MAX;
	wait = &table->rows[row];
	return ((uint64_t)wait->site.frame << 32 | wait->process) ^ (uint64_t)wait->thread << 16 ^
	       (uint64_t)wait->site.kind << 56;
}

static uint32_t waits_frame(const void *context, size_t row)
{
	const struct waits_table *table = context;

	return row < table->n ? table->rows[row].site.frame : FRAME_NONE;
}

static void waits_arrange(struct view_waits *waits, const struct ui_model *model)
{
	enum waits_order order = waits->chosen ? waits->order : WAITS_BY_MEAN;

	waits->order = order;
	waits_sort(&waits->table, model->all->frames, order, model->shares.totals);
	list_update(&waits->list, waits->table.n, waits_key, &waits->table);
}

/* Counts the idle tasks of the whole guest, without the filter. */
static struct xtop_error *waits_update_idle(struct view_waits *waits, const struct ui_model *model)
{
	struct waits_table all;
	struct xtop_error *error;

	waits->idle = (struct waits_idle){ 0 };
	if (!model->selection->hide_idle)
		return NULL;
	error = waits_build(model->all, &all);
	if (error)
		return error;
	waits->idle = waits_count_idle(&all);
	waits_deinit(&all);
	return NULL;
}

static struct xtop_error *waits_update(struct view *view, const struct ui_model *model)
{
	struct view_waits *waits = view_waits(view);
	struct xtop_error *error;

	waits_deinit(&waits->table);
	error = waits_build(model->snapshot, &waits->table);
	if (!error)
		error = waits_update_idle(waits, model);
	waits_arrange(waits, model);
	return error;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static double waits_mean(const struct ui_model *model, const struct waits_row *row)
{
	return model->shares.totals ? row->mean_total : row->mean;
}

/* The columns by which rows can be sorted. */
static const struct {
	int at, width;
	const char *text;
} waits_columns[] = { [WAITS_BY_NOW] = { AT_NOW, 4, "Now" },
		      [WAITS_BY_MEAN] = { AT_MEAN, 8, "Mean" },
		      [WAITS_BY_LONGEST] = { AT_LONGEST, 9, "Longest" } };

static void waits_put_header(const struct view_waits *waits, struct canvas *canvas, int row,
			     enum waits_order order)
{
	int at = waits_columns[order].at, width = waits_columns[order].width;
	bool sorted = waits->order == order;

	canvas_put_right(canvas, row, at, width, sorted ? STYLE_SORTED : STYLE_HEADER,
			 waits_columns[order].text);
	if (sorted)
		canvas_put(canvas, row, at + width, 1, STYLE_SORTED, "▾");
}

static void waits_draw_header(const struct view_waits *waits, struct canvas *canvas,
			      struct area area)
{
	bool narrow = area.columns < NARROW;
	int site = narrow ? AT_STATE : AT_WHO + WHO_CELLS + 1;

	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	waits_put_header(waits, canvas, area.row, WAITS_BY_NOW);
	waits_put_header(waits, canvas, area.row, WAITS_BY_MEAN);
	waits_put_header(waits, canvas, area.row, WAITS_BY_LONGEST);
	if (!narrow) {
		canvas_put(canvas, area.row, AT_STATE, 3, STYLE_HEADER, "St");
		canvas_put(canvas, area.row, AT_FOR, 11, STYLE_HEADER, "For");
		canvas_put(canvas, area.row, AT_WHO, WHO_CELLS, STYLE_HEADER, "Process");
	}
	canvas_put(canvas, area.row, site, area.columns - site, STYLE_HEADER, "Waits in");
}

/* Draws "httpd", or "httpd: worker" for a thread with a name of its own. */
static void waits_draw_who(const struct ui_model *model, struct canvas *canvas, int row,
			   const struct waits_row *wait, enum style style)
{
	const struct frames *frames = model->all->frames;
	char text[128];

	if (wait->process == FRAME_NONE)
		snprintf(text, sizeof(text), "-");
	else if (wait->thread == FRAME_NONE)
		snprintf(text, sizeof(text), "%.60s", frames_get(frames, wait->process)->name);
	else
		snprintf(text, sizeof(text), "%.60s: %.60s",
			 frames_get(frames, wait->process)->name,
			 frames_get(frames, wait->thread)->name);
	canvas_put_name(canvas, row, AT_WHO, WHO_CELLS, style, text);
}

static void waits_draw_site(const struct ui_model *model, struct canvas *canvas, int row, int at,
			    const struct waits_row *wait, enum style style)
{
	char buffer[SNAPSHOT_NAME_BYTES];
	const struct frame *frame;

	if (wait->site.frame == FRAME_NONE)
		return;
	frame = frames_get(model->all->frames, wait->site.frame);
	at += canvas_put(canvas, row, at, 4, STYLE_DIM,
			 frame->kind == FRAME_KIND_KERNEL ? "[k] " : "[.] ");
	canvas_put_name(canvas, row, at, canvas_columns(canvas) - at,
			view_matches(model, wait->site.frame) ? STYLE_MATCH : style,
			view_frame_name(model, wait->site.frame, buffer));
}

static void waits_draw_row(const struct view_waits *waits, const struct ui_model *model,
			   struct canvas *canvas, size_t index, int row)
{
	const struct waits_row *wait = &waits->table.rows[index];
	bool narrow = canvas_columns(canvas) < NARROW;
	double mean = waits_mean(model, wait);
	enum style style = wait->site.idle || mean < 0.005 ? STYLE_DIM : STYLE_NORMAL;
	char text[32], states[WAITS_STATES_BYTES];

	snprintf(text, sizeof(text), "%u", wait->now);
	canvas_put_right(canvas, row, AT_NOW, 4, style, wait->known ? text : "-");
	snprintf(text, sizeof(text), "%.2f", mean);
	canvas_put_right(canvas, row, AT_MEAN, 8, style, text);
	canvas_put_right(canvas, row, AT_LONGEST, 9, style,
			 wait->known ? format_time((double)wait->longest_ns, text) : "-");
	if (!narrow) {
		bool blocked = wait->states >> OS_WAIT_BLOCKED & 1;

		canvas_put(canvas, row, AT_STATE, 3, blocked ? STYLE_NOTICE : style,
			   waits_states(wait, states));
		canvas_put(canvas, row, AT_FOR, 11, style, wait_kind_names[wait->site.kind]);
		waits_draw_who(model, canvas, row, wait, style);
	}
	waits_draw_site(model, canvas, row, narrow ? AT_STATE : AT_WHO + WHO_CELLS + 1, wait,
			style);
	if (index == waits->list.selected)
		view_mark_row(canvas, row, 0, canvas_columns(canvas));
}

/* Says on the last line what is hidden. */
static void waits_draw_idle(const struct view_waits *waits, const struct ui_model *model,
			    struct canvas *canvas, int row)
{
	if (model->selection->hide_idle)
		canvas_printf(canvas, row, 1, STYLE_DIM,
			      "%u tasks wait for work (%.1f on average): I shows them",
			      waits->idle.now,
			      model->shares.totals ? waits->idle.mean_total : waits->idle.mean);
	else
		canvas_printf(canvas, row, 1, STYLE_DIM,
			      "with tasks that wait for work: I hides them");
}

static const char *waits_empty_reason(const struct ui_model *model)
{
	const struct snapshot_waits *waits = model->all ? model->all->waits : NULL;

	if (waits && waits->unsupported)
		return "No list of tasks was found in this guest: who waits is not known.";
	if (!waits || !waits->span_ticks)
		return VIEW_NO_LOOK_YET;
	return "No task waits here, but for work.";
}

static void waits_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		       struct area area)
{
	struct view_waits *waits = view_waits(view);
	size_t page = area.rows > 2 ? (size_t)area.rows - 2 : 0;

	waits_draw_header(waits, canvas, area);
	waits->first_row = area.row + 1;
	if (model->all && model->all->waits && area.rows > 2 && !model->all->waits->unsupported)
		waits_draw_idle(waits, model, canvas, area.row + area.rows - 1);
	if (!model->all || !waits->table.n) {
		canvas_put(canvas, area.row + area.rows / 3 + 1, 2, area.columns - 2, STYLE_NORMAL,
			   waits_empty_reason(model));
		return;
	}
	list_show(&waits->list, page);
	for (size_t i = 0; i < page && waits->list.top + i < waits->list.n; i++)
		waits_draw_row(waits, model, canvas, waits->list.top + i,
			       waits->first_row + (int)i);
}

/* --- requests --------------------------------------------------------------------------------- */

static struct request waits_order_by(struct view_waits *waits, const struct ui_model *model,
				     enum waits_order order)
{
	waits->order = order;
	waits->chosen = true;
	if (model->all)
		waits_arrange(waits, model);
	return request_of(REQUEST_NONE);
}

/* Sorts rows by the next column to the left (STEP is -1) or to the right. */
static struct request waits_order_beside(struct view_waits *waits, const struct ui_model *model,
					 int step)
{
	unsigned order = (waits->order + N_WAITS_ORDERS + (unsigned)step) % N_WAITS_ORDERS;

	return waits_order_by(waits, model, (enum waits_order)order);
}

static struct request waits_handle(struct view *view, const struct ui_model *model,
				   struct request request)
{
	struct view_waits *waits = view_waits(view);

	switch ((int)request.code) {
	case REQUEST_SORT_LEFT:
		return waits_order_beside(waits, model, -1);
	case REQUEST_SORT_RIGHT:
	case REQUEST_SORT_NEXT:
		return waits_order_beside(waits, model, 1);
	default:
		return view_handle_list(&waits->list, model, request, waits_frame);
	}
}

static struct request waits_click_header(struct view_waits *waits, const struct ui_model *model,
					 int column)
{
	for (unsigned i = 0; i < N_WAITS_ORDERS; i++)
		if (column <= waits_columns[i].at + waits_columns[i].width)
			return waits_order_by(waits, model, (enum waits_order)i);
	return request_of(REQUEST_NONE);
}

static struct request waits_click(struct view *view, const struct ui_model *model, int row,
				  int column)
{
	struct view_waits *waits = view_waits(view);

	if (row == waits->first_row - 1)
		return waits_click_header(waits, model, column);
	return view_click_list(&waits->list, row - waits->first_row, waits_frame);
}

static void waits_view_deinit(struct view *view)
{
	waits_deinit(&view_waits(view)->table);
}

/* clang-format off */
static const struct key waits_keys[] = {
	{ KEYS_PROFILE, { 'I' }, .request = REQUEST_HIDE_IDLE,
	  .names = "I", .help = "hide who waits for work" },
};
/* clang-format on */

const struct view_ops waits_ops = {
	.name = "tasks that wait",
	.size = sizeof(struct view_waits),
	.traits = VIEW_GUEST | VIEW_FUNCTIONS | VIEW_OPENS_CALLERS | VIEW_SEARCHED |
		  VIEW_COLUMNS | VIEW_ENDS_RANGE | VIEW_BACK_BY_ESC,
	.needs = VIEW_NEEDS_WAITS,
	.opener = { KEYS_PROFILE, { 'W' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .opens = &waits_ops },
	.keys = waits_keys,
	.n_keys = sizeof(waits_keys) / sizeof(waits_keys[0]),
	.update = waits_update,
	.draw = waits_draw,
	.handle = waits_handle,
	.click = waits_click,
	.deinit = waits_view_deinit,
};
