/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exits to Xen: the reasons by time, the longest first, each with the functions that cause it if
 * "+" has opened it; then how long the vCPUs waited from runnable to running. Xen traces as long as
 * this view is open, or --exits was given.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "ui/figures.h"
#include "ui/view.h"
#include "xtop/query/exit_names.h"
#include "xtop/query/takers_advice.h"

#define NARROW 60 /* columns below which means and longest times are left out */

enum exits_line { EXITS_REASON, EXITS_FUNCTION, EXITS_VCPU };

/* A line of the list. */
struct exits_line_row {
	enum exits_line kind;
	size_t index; /* number of a reason, a cause or a vCPU */
	uint64_t key;
	uint32_t frame; /* EXITS_FUNCTION: the function; else FRAME_NONE */
};

struct view_exits {
	struct view view;
	struct list list;
	struct exits_line_row *rows;
	size_t n_rows, n_before_vcpus;
	struct exit_reason open; /* the reason whose functions are shown */
	bool is_open;
	int first_row;
};

static struct view_exits *view_exits(struct view *view)
{
	return (struct view_exits *)view;
}

/* NULL: nothing is known. */
static const struct exits_table *exits_of(const struct ui_model *model)
{
	return model->all ? snapshot_get_run(model->all)->exits : NULL;
}

static void exits_view_deinit(struct view *view)
{
	struct view_exits *exits = view_exits(view);

	free(exits->rows);
	exits->rows = NULL;
	exits->n_rows = exits->n_before_vcpus = 0;
}

/* --- update ----------------------------------------------------------------------------------- */

static uint64_t exits_key(const void *context, size_t row)
{
	const struct view_exits *exits = context;

	return row < exits->n_rows ? exits->rows[row].key : UINT64_MAX;
}

static uint32_t exits_frame(const void *context, size_t row)
{
	const struct view_exits *exits = context;

	return row < exits->n_rows ? exits->rows[row].frame : FRAME_NONE;
}

static uint64_t exits_reason_key(const struct exit_reason *reason)
{
	return (uint64_t)reason->detail << 24 ^ (uint64_t)reason->code << 8 ^
	       (uint64_t)reason->handler << 40 ^ reason->kind;
}

static bool exits_is_open(const struct view_exits *exits, const struct exit_reason *reason)
{
	return exits->is_open && exits_reason_key(reason) == exits_reason_key(&exits->open);
}

static void exits_add_line(struct view_exits *exits, enum exits_line kind, size_t index,
			   uint64_t key, uint32_t frame)
{
	exits->rows[exits->n_rows++] = (struct exits_line_row){ kind, index, key, frame };
}

/* The row of REASON, and its functions if it is open. *ATP: where its causes begin. */
static void exits_add_reason(struct view_exits *exits, const struct exits_table *table,
			     size_t reason, size_t *atp)
{
	const struct exit_reason *of = &table->rows[reason].reason;
	uint64_t key = exits_reason_key(of);

	exits_add_line(exits, EXITS_REASON, reason, key, FRAME_NONE);
	for (; *atp < table->n_causes && table->causes[*atp].row == reason; ++*atp)
		if (exits_is_open(exits, of))
			exits_add_line(exits, EXITS_FUNCTION, *atp,
				       key ^ (uint64_t)(table->causes[*atp].frame + 1) << 20,
				       table->causes[*atp].frame);
}

static struct xtop_error *exits_update(struct view *view, const struct ui_model *model)
{
	struct view_exits *exits = view_exits(view);
	const struct exits_table *table = exits_of(model);
	size_t at = 0;

	exits_view_deinit(view);
	if (table) {
		exits->rows = calloc(table->n_rows + table->n_causes + GUEST_MAX_VCPUS,
				     sizeof(*exits->rows));
		if (!exits->rows)
			return error_create("no memory for the view of exits");
		for (size_t i = 0; i < table->n_rows; i++)
			exits_add_reason(exits, table, i, &at);
		exits->n_before_vcpus = exits->n_rows;
		for (size_t i = 0; i < table->n_vcpus && i < GUEST_MAX_VCPUS; i++)
			exits_add_line(exits, EXITS_VCPU, i, ~(uint64_t)i, FRAME_NONE);
	}
	list_update(&exits->list, exits->n_rows, exits_key, exits);
	return NULL;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Puts rate and share of a CPU's time. Returns the next column. */
static int exits_draw_weight(const struct ui_model *model, const struct exits_weight *live,
			     const struct exits_weight *total, struct canvas *canvas, int row)
{
	const struct exits_weight *weight = exits_weight_of(live, total, model->shares.totals);
	double span_ns = exits_span_ns(exits_of(model), model->shares.totals);
	char count[32];

	canvas_put_right(
		canvas, row, 1, 9, STYLE_NORMAL,
		format_count((uint64_t)((double)weight->count * 1e9 / span_ns + 0.5), count));
	view_put_share(canvas, row, 10, 100 * weight->ns / span_ns);
	return 18;
}

static int exits_draw_time(struct canvas *canvas, int row, int at, double ns)
{
	char text[32];

	canvas_put_right(canvas, row, at, 9, STYLE_NORMAL, ns > 0 ? format_time(ns, text) : "-");
	return at + 9;
}

static void exits_draw_reason(const struct view_exits *exits, const struct ui_model *model,
			      const struct exits_row *of, struct canvas *canvas, int row)
{
	const struct exits_weight *weight =
		exits_weight_of(&of->live, &of->total, model->shares.totals);
	bool narrow = canvas_columns(canvas) < NARROW;
	int at = exits_draw_weight(model, &of->live, &of->total, canvas, row);
	char name[EXIT_NAME_BYTES];

	if (!narrow)
		at = exits_draw_time(canvas, row, at,
				     weight->count ? weight->ns / (double)weight->count : 0);
	at = exits_draw_time(canvas, row, at, (double)of->p99_ns);
	if (!narrow)
		at = exits_draw_time(canvas, row, at, (double)of->longest_ns);
	at += canvas_put(canvas, row, at + 2, 2, STYLE_DIM,
			 exits_is_open(exits, &of->reason) ? "- " : "+ ") +
	      2;
	canvas_put(canvas, row, at, canvas_columns(canvas) - at, STYLE_NORMAL,
		   exit_name(&of->reason, name));
}

static void exits_draw_function(const struct ui_model *model, const struct exits_cause *cause,
				struct canvas *canvas, int row)
{
	int at = exits_draw_weight(model, &cause->live, &cause->total, canvas, row);
	char buffer[SNAPSHOT_NAME_BYTES];

	at += canvas_columns(canvas) < NARROW ? 9 + 6 : 3 * 9 + 6;
	if (at < canvas_columns(canvas))
		canvas_put_name(canvas, row, at, canvas_columns(canvas) - at,
				view_matches(model, cause->frame) ? STYLE_MATCH : STYLE_NORMAL,
				view_frame_name(model, cause->frame, buffer));
}

static void exits_draw_vcpu(const struct ui_model *model, size_t index, struct canvas *canvas,
			    int row)
{
	const struct takers_table nothing = { .domid = UINT32_MAX };
	const struct takers_table *takers = snapshot_get_run(model->all)->takers;
	const struct exits_wakes *wakes = &exits_of(model)->wakes[index];
	char count[32], name[TAKERS_NAME_BYTES];
	int at = 17;

	canvas_printf(canvas, row, 1, STYLE_NORMAL, "%4zu", index);
	canvas_put_right(canvas, row, 6, 10, STYLE_NORMAL, format_count(wakes->count, count));
	at = exits_draw_time(canvas, row, at, wakes->count ? wakes->ns / (double)wakes->count : 0);
	at = exits_draw_time(canvas, row, at, (double)wakes->p50_ns);
	at = exits_draw_time(canvas, row, at, (double)wakes->p99_ns);
	at = exits_draw_time(canvas, row, at, (double)wakes->longest_ns);
	if (wakes->longest_by != UINT32_MAX && at + 2 < canvas_columns(canvas))
		canvas_put_name(canvas, row, at + 2, canvas_columns(canvas) - at - 2, STYLE_NORMAL,
				takers_name(takers ? takers : &nothing, wakes->longest_by, name));
}

static void exits_draw_headers(struct canvas *canvas, int row, bool of_vcpus)
{
	bool narrow = canvas_columns(canvas) < NARROW;

	canvas_fill(canvas, row, 0, canvas_columns(canvas), STYLE_HEADER);
	canvas_put(canvas, row, 1, canvas_columns(canvas) - 1, STYLE_HEADER,
		   of_vcpus ? "vCPU      Wakes      Mean   Median      99 %  Longest  Who ran then"
		   : narrow ? "     Rate  Time %     99 %    Reason"
			    : "     Rate  Time %     Mean     99 %  Longest    Reason, functions");
}

static void exits_draw_row(struct view_exits *exits, const struct ui_model *model, size_t index,
			   struct canvas *canvas, int row)
{
	const struct exits_table *table = exits_of(model);
	const struct exits_line_row *line = &exits->rows[index];

	if (line->kind == EXITS_REASON)
		exits_draw_reason(exits, model, &table->rows[line->index], canvas, row);
	else if (line->kind == EXITS_FUNCTION)
		exits_draw_function(model, &table->causes[line->index], canvas, row);
	else
		exits_draw_vcpu(model, line->index, canvas, row);
	if (index == exits->list.selected)
		view_mark_row(canvas, row, 0, canvas_columns(canvas));
}

static void exits_draw_summary(const struct exits_table *table, bool totals, struct canvas *canvas,
			       int row)
{
	struct exits_weight sum = exits_sum(table, totals);
	double span_ns = exits_span_ns(table, totals);
	char rate[32], records[32], lost[32];
	int at = 1;

	at += canvas_printf(canvas, row, at, STYLE_NORMAL, "%s exits a second, %.1f %% of a CPU",
			    format_count((uint64_t)((double)sum.count * 1e9 / span_ns + 0.5), rate),
			    100 * sum.ns / span_ns);
	at += canvas_printf(canvas, row, at, STYLE_DIM, " · %s records",
			    format_count(table->records, records));
	if (table->lost)
		canvas_printf(canvas, row, at, STYLE_NOTICE,
			      " · %s lost: rates are of what was seen",
			      format_count(table->lost, lost));
	else if (!table->tracing)
		canvas_printf(canvas, row, at, STYLE_DIM, " · not traced now");
}

static const char *exits_find_obstacle(const struct ui_model *model)
{
	const struct exits_table *table = exits_of(model);

	if (!table)
		return model->is_range ? "Exits are not known of a range of time."
				       : "Xen has not traced yet. Earlier pictures have no exits.";
	if (table->failure[0])
		return table->failure;
	return table->records ? NULL : "Xen traces.";
}

static void exits_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		       struct area area)
{
	struct view_exits *exits = view_exits(view);
	const char *obstacle = exits_find_obstacle(model);
	size_t page = area.rows > 3 ? (size_t)area.rows - 3 : 0;
	int row = area.row;

	exits->first_row = area.row + 2;
	if (obstacle) {
		canvas_put(canvas, row + 1, 2, area.columns - 2, STYLE_NORMAL, obstacle);
		return;
	}
	exits_draw_summary(exits_of(model), model->shares.totals, canvas, row++);
	exits_draw_headers(canvas, row++, false);
	list_show(&exits->list, page);
	for (size_t i = exits->list.top; i < exits->list.n && i < exits->list.top + page; i++) {
		if (i == exits->n_before_vcpus)
			exits_draw_headers(canvas, row++, true);
		exits_draw_row(exits, model, i, canvas, row++);
	}
}

/* --- requests --------------------------------------------------------------------------------- */

/* Shows or hides the functions of the selected reason. */
static struct request exits_unfold(struct view_exits *exits, const struct ui_model *model)
{
	size_t row = exits->list.selected;
	const struct exit_reason *reason;

	if (!exits_of(model) || row >= exits->n_before_vcpus)
		return request_of(REQUEST_NONE);
	while (exits->rows[row].kind == EXITS_FUNCTION)
		row--;
	reason = &exits_of(model)->rows[exits->rows[row].index].reason;
	exits->is_open = !exits_is_open(exits, reason);
	exits->open = *reason;
	list_select(&exits->list, row);
	return request_of(REQUEST_UPDATE);
}

static struct request exits_handle(struct view *view, const struct ui_model *model,
				   struct request request)
{
	struct view_exits *exits = view_exits(view);
	bool of_function = exits_frame(exits, exits->list.selected) != FRAME_NONE;

	if (request.code == REQUEST_UNFOLD || (request.code == REQUEST_OPEN && !of_function))
		return exits_unfold(exits, model);
	return view_handle_list(&exits->list, model, request, exits_frame);
}

/* clang-format off */
static const struct key exits_keys[] = {
	{ KEYS_UNFOLD, { '+', '=', 'e' }, .request = REQUEST_UNFOLD,
	  .names = "+ e", .help = "its functions, or not" },
};
/* clang-format on */

const struct view_ops exits_ops = {
	.name = "exits to Xen",
	.size = sizeof(struct view_exits),
	.traits = VIEW_GUEST | VIEW_FUNCTIONS | VIEW_OPENS_CALLERS | VIEW_SEARCHED |
		  VIEW_ENDS_RANGE | VIEW_BACK_BY_ESC,
	.needs = VIEW_NEEDS_TRACE,
	.opener = { KEYS_VIEWS, { 'O' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .opens = &exits_ops },
	.keys = exits_keys,
	.n_keys = sizeof(exits_keys) / sizeof(exits_keys[0]),
	.update = exits_update,
	.draw = exits_draw,
	.handle = exits_handle,
	.deinit = exits_view_deinit,
};
