/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The holders of locks that tasks wait for. First come circles of tasks that wait for each other.
 * Then come holders and what they do, with their locks and the waiters of each lock below. "+"
 * shows the stack of a task, innermost function first. Enter opens the callers of the function in
 * which the task is.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "ui/figures.h"
#include "ui/view.h"
#include "ui/views/rows.h"
#include "xtop/query/locks.h"

#define NARROW 60 /* columns below which mean and number of waits are left out */
#define INDENT 2

/* First cells of the columns. */
enum { AT_NOW = 1, AT_MEAN = 6, AT_LONGEST = 14, AT_SEEN = 24, AT_TEXT = 32 };
enum { AT_NARROW_LONGEST = 6, AT_NARROW_TEXT = 16 };

/* A function of the stack has the line of its task. */
enum locks_kind { LOCKS_LINE, LOCKS_STACK };

struct view_locks {
	struct view view;
	struct locks_forest forest;
	struct rows rows;  /* index: a line of the forest */
	uint32_t open_pid; /* task whose stack is shown; 0 if none is */
};

static struct view_locks *view_locks(struct view *view)
{
	return (struct view_locks *)view;
}

static void locks_view_deinit(struct view *view)
{
	struct view_locks *locks = view_locks(view);

	rows_deinit(&locks->rows);
	locks_deinit(&locks->forest);
}

/* --- update ----------------------------------------------------------------------------------- */

static uint64_t locks_key_of(const struct snapshot_waits *waits, const struct locks_line *line)
{
	uint64_t key = (uint64_t)line->kind << 60;

	if (line->kind == LOCKS_LOCK)
		return key ^ waits->locks[line->lock].address;
	return key ^ waits->lock_tasks[line->task].pid;
}

/* The task of LINE; NULL if the line is a lock or a circle. */
static const struct snapshot_lock_task *locks_task_of(const struct snapshot_waits *waits,
						      const struct locks_line *line)
{
	return line->kind == LOCKS_TASK || line->kind == LOCKS_WAITERS
		       ? &waits->lock_tasks[line->task]
		       : NULL;
}

/*
 * The line below which a stack is shown; SIZE_MAX if there is none. Only the first line with the
 * pid has the stack: a task may have several lines, and a guest may give several tasks one pid.
 */
static size_t locks_find_open(const struct view_locks *locks, const struct snapshot_waits *waits)
{
	for (size_t i = 0; locks->open_pid && i < locks->forest.n; i++) {
		const struct snapshot_lock_task *task =
			locks_task_of(waits, &locks->forest.lines[i]);

		if (task && task->pid == locks->open_pid)
			return i;
	}
	return SIZE_MAX;
}

/* Adds a line and, if the line is open, the stack below. */
static void locks_add_rows(struct view_locks *locks, const struct snapshot_waits *waits,
			   size_t number, bool open)
{
	const struct locks_line *line = &locks->forest.lines[number];
	const struct snapshot_lock_task *task = locks_task_of(waits, line);
	uint64_t key = locks_key_of(waits, line);

	rows_add(&locks->rows,
		 (struct rows_row){ .kind = LOCKS_LINE,
				    .index = number,
				    .key = key,
				    .frame = line->kind == LOCKS_LOCK
						     ? FRAME_NONE
						     : waits->lock_tasks[line->task].site });
	for (uint32_t i = 0; open && i < task->n_frames; i++)
		rows_add(&locks->rows, (struct rows_row){ .kind = LOCKS_STACK,
							  .index = number,
							  .key = key ^ (uint64_t)(i + 1) << 40,
							  .frame = task->frames[i] });
}

static struct xtop_error *locks_update(struct view *view, const struct ui_model *model)
{
	struct view_locks *locks = view_locks(view);
	const struct snapshot_waits *waits = model->all->waits;
	struct xtop_error *error;
	size_t open;

	locks_view_deinit(view);
	error = locks_build(model->all, &locks->forest);
	if (!error && !rows_begin(&locks->rows, locks->forest.n + SNAPSHOT_LOCK_FRAMES)) {
		locks_view_deinit(view);
		error = error_create("no memory for the view of locks");
	}
	open = locks_find_open(locks, waits);
	for (size_t i = 0; i < locks->forest.n; i++)
		locks_add_rows(locks, waits, i, i == open);
	rows_end(&locks->rows);
	return error;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void locks_draw_header(struct canvas *canvas, struct area area)
{
	bool narrow = area.columns < NARROW;
	int text = narrow ? AT_NARROW_TEXT : AT_TEXT;

	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_put_right(canvas, area.row, AT_NOW, 4, STYLE_HEADER, "Now");
	canvas_put_right(canvas, area.row, narrow ? AT_NARROW_LONGEST : AT_LONGEST, 9, STYLE_HEADER,
			 "Longest");
	if (!narrow) {
		canvas_put_right(canvas, area.row, AT_MEAN, 7, STYLE_HEADER, "Mean");
		canvas_put_right(canvas, area.row, AT_SEEN, 6, STYLE_HEADER, "Waits");
	}
	canvas_put(canvas, area.row, text, area.columns - text, STYLE_HEADER,
		   "Holder, its locks, who waits for them");
}

static void locks_draw_time(struct canvas *canvas, int row, bool narrow, uint64_t time_ns,
			    enum style style)
{
	char text[32];

	if (time_ns)
		canvas_put_right(canvas, row, narrow ? AT_NARROW_LONGEST : AT_LONGEST, 9, style,
				 format_time((double)time_ns, text));
}

static void locks_draw_lock(const struct ui_model *model, const struct locks_line *line,
			    struct canvas *canvas, int row)
{
	const struct snapshot_lock *lock = &model->all->waits->locks[line->lock];
	bool narrow = canvas_columns(canvas) < NARROW;
	char text[32];

	snprintf(text, sizeof(text), "%u", lock->now);
	canvas_put_right(canvas, row, AT_NOW, 4, STYLE_NORMAL, text);
	locks_draw_time(canvas, row, narrow, lock->longest_ns, STYLE_NORMAL);
	if (narrow)
		return;
	snprintf(text, sizeof(text), "%.2f", locks_mean(model->all, line, model->shares.totals));
	canvas_put_right(canvas, row, AT_MEAN, 7, STYLE_NORMAL, text);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)lock->waits);
	canvas_put_right(canvas, row, AT_SEEN, 6, STYLE_NORMAL, text);
}

static void locks_draw_figures(const struct ui_model *model, const struct locks_line *line,
			       struct canvas *canvas, int row)
{
	bool narrow = canvas_columns(canvas) < NARROW;
	char text[32];

	if (line->kind == LOCKS_LOCK)
		locks_draw_lock(model, line, canvas, row);
	if (line->kind != LOCKS_WAITERS)
		return;
	snprintf(text, sizeof(text), "%u", line->n);
	canvas_put_right(canvas, row, AT_NOW, 4, STYLE_DIM, text);
	locks_draw_time(canvas, row, narrow, model->all->waits->lock_tasks[line->task].waited_ns,
			STYLE_DIM);
}

static enum style locks_style(const struct ui_model *model, const struct locks_line *line,
			      uint32_t site)
{
	if (line->kind == LOCKS_DEADLOCK)
		return STYLE_HOT;
	if (view_matches(model, site))
		return STYLE_MATCH;
	return line->kind == LOCKS_LOCK ? STYLE_NOTICE : STYLE_NORMAL;
}

static void locks_draw_frame(const struct ui_model *model, struct canvas *canvas, int row, int at,
			     uint32_t frame)
{
	enum frame_kind kind = frames_get(model->all->frames, frame)->kind;
	char buffer[SNAPSHOT_NAME_BYTES];

	at += canvas_put(canvas, row, at, 4, STYLE_DIM,
			 kind == FRAME_KIND_KERNEL ? "[k] " : "[.] ");
	if (at < canvas_columns(canvas))
		canvas_put_name(canvas, row, at, canvas_columns(canvas) - at,
				view_matches(model, frame) ? STYLE_MATCH : STYLE_NORMAL,
				view_frame_name(model, frame, buffer));
}

static void locks_draw_line(const struct ui_model *model, const struct locks_line *line,
			    struct canvas *canvas, int row, int at, enum style style)
{
	char text[LOCKS_TEXT_BYTES];

	locks_draw_figures(model, line, canvas, row);
	if (line->kind == LOCKS_DEADLOCK)
		at = 1 + canvas_put(canvas, row, 1, 10, style, "DEADLOCK: ");
	if (line->kind == LOCKS_LOCK)
		locks_name(model->all, line, text);
	else
		locks_describe(model->all, line, text);
	if (line->kind == LOCKS_DEADLOCK)
		canvas_put(canvas, row, at, canvas_columns(canvas) - at, style, text);
	else if (at < canvas_columns(canvas))
		canvas_put_name(canvas, row, at, canvas_columns(canvas) - at, style, text);
}

static void locks_draw_row(struct view *view, const struct ui_model *model,
			   const struct rows_row *row, struct canvas *canvas, int screen_row)
{
	const struct locks_line *line = &view_locks(view)->forest.lines[row->index];
	int at = (canvas_columns(canvas) < NARROW ? AT_NARROW_TEXT : AT_TEXT) +
		 INDENT * (int)line->depth;

	if (row->kind == LOCKS_STACK)
		locks_draw_frame(model, canvas, screen_row, at + INDENT, row->frame);
	else
		locks_draw_line(model, line, canvas, screen_row, at,
				locks_style(model, line, row->frame));
}

static const char *locks_empty_reason(const struct ui_model *model)
{
	const struct snapshot_waits *waits = model->all ? model->all->waits : NULL;

	if (waits && waits->unsupported)
		return "No list of tasks was found in this guest: who waits is not known.";
	if (!waits || !waits->span_ticks)
		return VIEW_NO_LOOK_YET;
	if (model->is_range)
		return "Who holds locks is known of single moments, not of a range of time.";
	return "No task waits for a lock.";
}

static void locks_draw_summary(const struct view_locks *locks, const struct ui_model *model,
			       struct canvas *canvas, int row)
{
	const struct os_waits_counts *counts = &model->all->waits->counts;

	canvas_printf(canvas, row, 1, STYLE_DIM,
		      "%u tasks wait for %u locks; which one is not known: %llu of %llu waits",
		      locks->forest.waiters, locks->forest.locks,
		      (unsigned long long)counts->locks_unknown,
		      (unsigned long long)counts->locks_unknown + counts->locks_found);
}

static void locks_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		       struct area area)
{
	struct view_locks *locks = view_locks(view);
	const struct rows_drawing drawing = { .view = view, .draw = locks_draw_row };
	size_t page = area.rows > 2 ? (size_t)area.rows - 2 : 0;

	locks_draw_header(canvas, area);
	if (model->all && model->all->waits && area.rows > 2 && !model->all->waits->unsupported)
		locks_draw_summary(locks, model, canvas, area.row + area.rows - 1);
	if (!model->all || !locks->forest.n) {
		canvas_put(canvas, area.row + area.rows / 3 + 1, 2, area.columns - 2, STYLE_NORMAL,
			   locks_empty_reason(model));
		return;
	}
	rows_draw(&locks->rows, &drawing, model, canvas, area.row + 1, page);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Shows or hides the stack of the selected task. */
static struct request locks_unfold(struct view_locks *locks, const struct ui_model *model)
{
	const struct snapshot_lock_task *task = NULL;
	const struct rows_row *row = rows_selected(&locks->rows);

	if (model->all && row)
		task = locks_task_of(model->all->waits, &locks->forest.lines[row->index]);
	if (!task)
		return request_of(REQUEST_NONE);
	if (!task->n_frames && task->pid != locks->open_pid)
		return view_message("The stack of task %u is not known.", task->pid);
	while (row->kind == LOCKS_STACK)
		row--;
	list_select(&locks->rows.list, (size_t)(row - locks->rows.rows));
	locks->open_pid = task->pid == locks->open_pid ? 0 : task->pid;
	return request_of(REQUEST_UPDATE);
}

static struct request locks_handle(struct view *view, const struct ui_model *model,
				   struct request request)
{
	if (request.code == REQUEST_UNFOLD)
		return locks_unfold(view_locks(view), model);
	return rows_handle(&view_locks(view)->rows, model, request);
}

static struct request locks_click(struct view *view, const struct ui_model *model, int row,
				  int column)
{
	(void)model;
	(void)column;
	return rows_click(&view_locks(view)->rows, row);
}

/* clang-format off */
static const struct key locks_keys[] = {
	{ KEYS_UNFOLD, { '+', '=', 'e' }, .request = REQUEST_UNFOLD,
	  .names = "+ e", .help = "the task's stack, or not" },
};
/* clang-format on */

const struct view_ops locks_ops = {
	.name = "who holds locks",
	.size = sizeof(struct view_locks),
	.traits = VIEW_GUEST | VIEW_FUNCTIONS | VIEW_OPENS_CALLERS | VIEW_SEARCHED |
		  VIEW_ENDS_RANGE | VIEW_BACK_BY_ESC,
	.needs = VIEW_NEEDS_WAITS,
	.opener = { KEYS_PROFILE, { 'L' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .opens = &locks_ops },
	.keys = locks_keys,
	.n_keys = sizeof(locks_keys) / sizeof(locks_keys[0]),
	.update = locks_update,
	.draw = locks_draw,
	.handle = locks_handle,
	.click = locks_click,
	.deinit = locks_view_deinit,
};
