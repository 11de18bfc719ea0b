/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exits to Xen: the reasons by time, the longest first, each with the functions that cause it if
 * "+" has opened it; then how long the vCPUs waited from runnable to running, by vCPU, one with its
 * histogram if "+" has opened it, and the histogram of all these waits. A filter leaves the
 * reasons, functions and processes that match, and reasons have what is left of their weight.
 * Xen traces as long as this view is open, or --exits was given.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "ui/figures.h"
#include "ui/view.h"
#include "ui/views/rows.h"
#include "xtop/profile/exit_names.h"
#include "xtop/query/filter.h"
#include "xtop/query/selection.h"
#include "xtop/query/takers_advice.h"

#define NARROW        60 /* columns below which means and longest times are left out */
#define REASON_COLUMN 47 /* column of the reasons */
#define REASON_NARROW 29 /* column of the reasons below NARROW columns */
#define REASON_HEAD   "Reason, functions"

/* Reasons and their functions are the first section, vCPUs and their histograms the next one. */
enum exits_section { EXITS_REASONS, EXITS_VCPUS, EXITS_BUCKETS };
enum exits_kind { EXITS_REASON, EXITS_FUNCTION, EXITS_VCPU, EXITS_BUCKET };

/* What rows are sorted by; in the order of the columns. */
enum exits_sort { EXITS_BY_RATE, EXITS_BY_TIME, EXITS_BY_P99, EXITS_BY_LONGEST, N_EXITS_SORTS };

/* What the filter leaves of a reason. */
struct exits_shown {
	size_t reason; /* index in the table */
	struct exits_weight live, total;
	size_t first_cause, n_causes;
};

struct view_exits {
	struct view view;
	/* index: in shown[], in the table's causes[], a vCPU, or a power of two of its histogram */
	struct rows rows;
	enum exits_sort sort;
	bool sorted; /* the user chose SORT */
	size_t n_shown;
	struct exits_shown *shown; /* reasons that the filter leaves, sorted */
	struct exits_weight sum;   /* weight that the filter leaves of all reasons */
	struct exit_reason open;   /* the reason whose functions are shown */
	bool is_open;
	size_t open_vcpu; /* the vCPU whose histogram is shown, + 1; 0: none */
	int sort_row;     /* screen's row with the columns to sort by, as last drawn; -1: none */
	bool narrow;
};

static struct view_exits *view_exits(struct view *view)
{
	return (struct view_exits *)view;
}

/* The table of exits; NULL: none is known. */
static const struct exits_table *exits_of(const struct ui_model *model)
{
	return model->all ? snapshot_get_run(model->all)->exits : NULL;
}

static void exits_view_deinit(struct view *view)
{
	struct view_exits *exits = view_exits(view);

	rows_deinit(&exits->rows);
	free(exits->shown);
	exits->shown = NULL;
	exits->n_shown = 0;
}

/* --- update ----------------------------------------------------------------------------------- */

static uint64_t exits_reason_key(const struct exit_reason *reason)
{
	return (uint64_t)reason->detail << 24 ^ (uint64_t)reason->code << 8 ^
	       (uint64_t)reason->handler << 40 ^ reason->kind;
}

static bool exits_is_open(const struct view_exits *exits, const struct exit_reason *reason)
{
	return exits->is_open && exits_reason_key(reason) == exits_reason_key(&exits->open);
}

static uint64_t exits_place_key(const struct exits_place *place)
{
	return (uint64_t)(place->frame + 1) << 20 ^ (uint64_t)place->process << 44;
}

/* Whether the filter leaves exits: by their reason, function or process. */
static bool exits_passes(const struct ui_model *model, uint32_t row,
			 const struct exits_place *place)
{
	const struct filter *filter = model->selection ? model->selection->filter : NULL;
	const uint32_t names[] = { exits_of(model)->rows[row].frame, place->frame, place->process };
	uint8_t met = 0;

	if (!filter)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i] < model->all->n_frames)
			met |= filter_ask(filter, model->all->frames, names[i]);
	return filter_passes(filter, met);
}

static void exits_add_up(struct exits_weight *sum, const struct exits_weight *weight)
{
	sum->count += weight->count;
	sum->ns += weight->ns;
}

/* Fills in what the filter leaves of the reason ROW, whose causes begin at AT. */
static void exits_select_row(const struct ui_model *model, uint32_t row, size_t at,
			     struct exits_shown *shown)
{
	static const struct exits_place nowhere = { FRAME_NONE, FRAME_NONE };
	const struct exits_table *table = exits_of(model);
	bool filtered = model->selection && model->selection->filter;

	*shown = (struct exits_shown){ .reason = row, .first_cause = at };
	for (; at < table->n_causes && table->causes[at].row == row; at++) {
		if (!exits_passes(model, row, &table->causes[at].place))
			continue;
		exits_add_up(&shown->live, &table->causes[at].live);
		exits_add_up(&shown->total, &table->causes[at].total);
	}
	shown->n_causes = at - shown->first_cause;
	/* There may have been no room for a reason's causes. */
	if (filtered && (shown->n_causes || !exits_passes(model, row, &nowhere)))
		return;
	shown->live = table->rows[row].live;
	shown->total = table->rows[row].total;
}

/* Fills in what the filter leaves of all reasons, in the table's order. */
static void exits_select(struct view_exits *exits, const struct ui_model *model)
{
	const struct exits_table *table = exits_of(model);
	struct exits_shown shown;
	size_t at = 0;

	exits->sum = (struct exits_weight){ 0 };
	for (size_t i = 0; i < table->n_rows; i++, at += shown.n_causes) {
		exits_select_row(model, (uint32_t)i, at, &shown);
		if (!shown.total.count)
			continue;
		exits_add_up(&exits->sum,
			     exits_weight_of(&shown.live, &shown.total, model->shares.totals));
		exits->shown[exits->n_shown++] = shown;
	}
}

/* What comparing two reasons needs. */
struct exits_order {
	const struct exits_table *table;
	enum exits_sort sort;
	bool totals;
};

static double exits_sort_value(const struct exits_order *order, const struct exits_shown *shown)
{
	const struct exits_row *row = &order->table->rows[shown->reason];
	const struct exits_weight *weight =
		exits_weight_of(&shown->live, &shown->total, order->totals);

	switch (order->sort) {
	case EXITS_BY_RATE:
		return (double)weight->count;
	case EXITS_BY_P99:
		return (double)row->p99_ns;
	case EXITS_BY_LONGEST:
		return (double)row->longest_ns;
	default:
		return weight->ns;
	}
}

static int exits_compare(const void *a, const void *b, void *context)
{
	const struct exits_shown *x = a, *y = b;
	double left = exits_sort_value(context, x), right = exits_sort_value(context, y);

	if (left != right)
		return left < right ? 1 : -1;
	return (x->reason > y->reason) - (x->reason < y->reason);
}

/* Adds the row of a reason and, if the reason is open, those of its functions. */
static void exits_add_reason(struct view_exits *exits, const struct ui_model *model, size_t index)
{
	const struct exits_table *table = exits_of(model);
	const struct exits_shown *shown = &exits->shown[index];
	const struct exit_reason *reason = &table->rows[shown->reason].reason;
	uint64_t key = exits_reason_key(reason);

	rows_add(&exits->rows,
		 (struct rows_row){
			 .kind = EXITS_REASON, .index = index, .key = key, .frame = FRAME_NONE });
	if (!exits_is_open(exits, reason))
		return;
	for (size_t i = shown->first_cause; i < shown->first_cause + shown->n_causes; i++)
		if (exits_passes(model, table->causes[i].row, &table->causes[i].place))
			rows_add(&exits->rows,
				 (struct rows_row){ .kind = EXITS_FUNCTION,
						    .index = i,
						    .key = key ^
							   exits_place_key(&table->causes[i].place),
						    .frame = table->causes[i].place.frame });
}

static void exits_add_number(struct view_exits *exits, enum exits_section part,
			     enum exits_kind kind, size_t number)
{
	rows_add(&exits->rows,
		 (struct rows_row){ .part = part,
				    .kind = kind,
				    .index = number,
				    .key = ~((uint64_t)part << 32 ^ (uint64_t)kind << 24 ^ number),
				    .frame = FRAME_NONE });
}

static void exits_add_buckets(struct view_exits *exits, enum exits_section part,
			      const uint64_t log2[EXITS_LOG2])
{
	struct histogram_span span = histogram_find_span(log2);

	for (size_t i = span.first; i < span.end; i++)
		exits_add_number(exits, part, EXITS_BUCKET, i);
}

static void exits_get_histogram(const struct exits_wakes *wakes, uint64_t log2[EXITS_LOG2])
{
	for (unsigned i = 0; i < EXITS_LOG2; i++)
		log2[i] = wakes->log2[i];
}

static void exits_add_vcpus(struct view_exits *exits, const struct exits_table *table)
{
	uint64_t log2[EXITS_LOG2];

	for (size_t i = 0; i < table->n_vcpus && i < GUEST_MAX_VCPUS; i++) {
		exits_add_number(exits, EXITS_VCPUS, EXITS_VCPU, i);
		if (i + 1 != exits->open_vcpu)
			continue;
		exits_get_histogram(&table->wakes[i], log2);
		exits_add_buckets(exits, EXITS_VCPUS, log2);
	}
	exits_sum_waits(table, log2);
	exits_add_buckets(exits, EXITS_BUCKETS, log2);
}

static void exits_arrange(struct view_exits *exits, const struct ui_model *model)
{
	const struct exits_table *table = exits_of(model);
	struct exits_order order = { table, exits->sorted ? exits->sort : EXITS_BY_TIME,
				     model->shares.totals };

	exits->sort = order.sort;
	exits_select(exits, model);
	qsort_r(exits->shown, exits->n_shown, sizeof(exits->shown[0]), exits_compare, &order);
	for (size_t i = 0; i < exits->n_shown; i++)
		exits_add_reason(exits, model, i);
	exits_add_vcpus(exits, table);
}

static struct xtop_error *exits_update(struct view *view, const struct ui_model *model)
{
	struct view_exits *exits = view_exits(view);
	const struct exits_table *table = exits_of(model);

	exits_view_deinit(view);
	if (table) {
		exits->shown = calloc(table->n_rows + 1, sizeof(*exits->shown));
		if (!exits->shown ||
		    !rows_begin(&exits->rows,
				table->n_rows + table->n_causes + GUEST_MAX_VCPUS + 2 * EXITS_LOG2))
			return error_create("no memory for the view of exits");
		exits_arrange(exits, model);
	}
	rows_end(&exits->rows);
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
			      const struct exits_shown *shown, struct canvas *canvas, int row)
{
	const struct exits_row *entry = &exits_of(model)->rows[shown->reason];
	const struct exits_weight *weight =
		exits_weight_of(&shown->live, &shown->total, model->shares.totals);
	bool narrow = canvas_columns(canvas) < NARROW;
	int at = exits_draw_weight(model, &shown->live, &shown->total, canvas, row);
	char name[EXIT_NAME_BYTES];

	if (!narrow)
		at = exits_draw_time(canvas, row, at,
				     weight->count ? weight->ns / (double)weight->count : 0);
	at = exits_draw_time(canvas, row, at, (double)entry->p99_ns);
	if (!narrow)
		at = exits_draw_time(canvas, row, at, (double)entry->longest_ns);
	at += canvas_put(canvas, row, at + 2, 2, STYLE_DIM,
			 exits_is_open(exits, &entry->reason) ? "- " : "+ ") +
	      2;
	canvas_put(canvas, row, at, canvas_columns(canvas) - at, STYLE_NORMAL,
		   exit_name(&entry->reason, name));
}

static void exits_draw_function(const struct ui_model *model, const struct exits_cause *cause,
				struct canvas *canvas, int row)
{
	int at = exits_draw_weight(model, &cause->live, &cause->total, canvas, row);
	const struct exits_place *place = &cause->place;
	int end = canvas_columns(canvas);
	char buffer[SNAPSHOT_NAME_BYTES];

	at += end < NARROW ? 9 + 6 : 3 * 9 + 6;
	if (at < end)
		at += canvas_put_name(canvas, row, at, end - at,
				      view_matches(model, place->frame) ? STYLE_MATCH
									: STYLE_NORMAL,
				      view_frame_name(model, place->frame, buffer));
	if (place->process != FRAME_ROOT && at + 1 < end)
		canvas_put_name(canvas, row, at + 1, end - at - 1, STYLE_DIM,
				frames_get(model->all->frames, place->process)->name);
}

static void exits_draw_vcpu(const struct view_exits *exits, const struct ui_model *model,
			    size_t index, struct canvas *canvas, int row)
{
	const struct takers_table nothing = { .domid = UINT32_MAX };
	const struct takers_table *takers = snapshot_get_run(model->all)->takers;
	const struct exits_wakes *wakes = &exits_of(model)->wakes[index];
	char count[32], name[TAKERS_NAME_BYTES];
	int at = 17;

	canvas_put(canvas, row, 1, 1, STYLE_DIM, index + 1 == exits->open_vcpu ? "-" : "+");
	canvas_printf(canvas, row, 2, STYLE_NORMAL, "%3zu", index);
	canvas_put_right(canvas, row, 6, 10, STYLE_NORMAL, format_count(wakes->count, count));
	at = exits_draw_time(canvas, row, at, wakes->count ? wakes->ns / (double)wakes->count : 0);
	at = exits_draw_time(canvas, row, at, (double)wakes->p50_ns);
	at = exits_draw_time(canvas, row, at, (double)wakes->p99_ns);
	at = exits_draw_time(canvas, row, at, (double)wakes->longest_ns);
	if (wakes->longest_by != UINT32_MAX && at + 2 < canvas_columns(canvas))
		canvas_put_name(canvas, row, at + 2, canvas_columns(canvas) - at - 2, STYLE_NORMAL,
				takers_name(takers ? takers : &nothing, wakes->longest_by, name));
}

/* Draws a line of the open vCPU's histogram, or of the histogram of all vCPUs. */
static void exits_draw_bucket(const struct view_exits *exits, const struct ui_model *model,
			      const struct rows_row *line, struct canvas *canvas, int row)
{
	const struct exits_table *table = exits_of(model);
	bool of_vcpu = line->part == EXITS_VCPUS;
	char text[HISTOGRAM_LINE_BYTES];
	uint64_t log2[EXITS_LOG2];
	int at = of_vcpu ? 6 : 1;

	if (of_vcpu)
		exits_get_histogram(&table->wakes[exits->open_vcpu - 1], log2);
	else
		exits_sum_waits(table, log2);
	canvas_put(canvas, row, at, canvas_columns(canvas) - at, STYLE_NORMAL,
		   format_histogram_line(log2, (unsigned)line->index,
					 histogram_find_span(log2).most, text));
}

/* The columns by which rows can be sorted. */
static const struct {
	const char *name;
	int end, narrow_end; /* the column's end on the screen; 0: it is not there */
} exits_columns[] = {
	[EXITS_BY_RATE] = { "Rate", 10, 10 },
	[EXITS_BY_TIME] = { "Time %", 18, 18 },
	[EXITS_BY_P99] = { "99 %", 36, 27 },
	[EXITS_BY_LONGEST] = { "Longest", 45, 0 },
};

static int exits_column_end(enum exits_sort sort, bool narrow)
{
	return narrow ? exits_columns[sort].narrow_end : exits_columns[sort].end;
}

static void exits_draw_columns(struct view_exits *exits, struct canvas *canvas, int row)
{
	bool narrow = canvas_columns(canvas) < NARROW;
	int reason = narrow ? REASON_NARROW : REASON_COLUMN;

	exits->narrow = narrow;
	exits->sort_row = row;
	canvas_fill(canvas, row, 0, canvas_columns(canvas), STYLE_HEADER);
	for (int i = 0; i < N_EXITS_SORTS; i++) {
		int end = exits_column_end((enum exits_sort)i, narrow);

		if (!end)
			continue;
		canvas_put_right(canvas, row, end - 9, 9, STYLE_HEADER, exits_columns[i].name);
		if (exits->sort == (enum exits_sort)i)
			canvas_put(canvas, row, end, 1, STYLE_SORTED, "▾");
	}
	if (!narrow)
		canvas_put_right(canvas, row, 18, 9, STYLE_HEADER, "Mean");
	canvas_put(canvas, row, reason, canvas_columns(canvas) - reason, STYLE_HEADER,
		   REASON_HEAD);
}

/* Says that waits stand below the last row of the screen, if there is room to say so. */
static void exits_draw_more(const struct view_exits *exits, struct canvas *canvas, int row,
			    size_t page)
{
	const char *const text = "↓ waits by vCPU";
	int width = canvas_text_width(text), at = canvas_columns(canvas) - width;
	const struct rows *rows = &exits->rows;
	size_t end = rows->list.top + page;

	if (at >= REASON_COLUMN + (int)sizeof(REASON_HEAD) && end && end < rows->n &&
	    rows->rows[end - 1].part == EXITS_REASONS)
		canvas_put(canvas, row, at, width, STYLE_HEADER, text);
}

static void exits_draw_later_head(struct canvas *canvas, int row, unsigned part)
{
	canvas_fill(canvas, row, 0, canvas_columns(canvas), STYLE_HEADER);
	canvas_put(canvas, row, 1, canvas_columns(canvas) - 1, STYLE_HEADER,
		   part == EXITS_VCPUS ? "vCPU      Waits      Mean   Median      99 %  Longest"
					 "  Who ran then"
				       : "    From          to    Waits, all vCPUs");
}

static void exits_draw_head(struct view_exits *exits, struct canvas *canvas, int row, unsigned part)
{
	if (part == EXITS_REASONS)
		exits_draw_columns(exits, canvas, row);
	else
		exits_draw_later_head(canvas, row, part);
}

static void exits_draw_row(struct view *view, const struct ui_model *model,
			   const struct rows_row *line, struct canvas *canvas, int row)
{
	const struct view_exits *exits = view_exits(view);

	switch ((enum exits_kind)line->kind) {
	case EXITS_REASON:
		exits_draw_reason(exits, model, &exits->shown[line->index], canvas, row);
		break;
	case EXITS_FUNCTION:
		exits_draw_function(model, &exits_of(model)->causes[line->index], canvas, row);
		break;
	case EXITS_VCPU:
		exits_draw_vcpu(exits, model, line->index, canvas, row);
		break;
	case EXITS_BUCKET:
		exits_draw_bucket(exits, model, line, canvas, row);
		break;
	}
}

static void exits_draw_summary(const struct view_exits *exits, const struct ui_model *model,
			       struct canvas *canvas, int row)
{
	const struct exits_table *table = exits_of(model);
	double span_ns = exits_span_ns(table, model->shares.totals);
	char rate[32], lost[32];
	int at = 1;

	at += canvas_printf(
		canvas, row, at, STYLE_NORMAL, "%s exits a second, %.1f %% of a CPU",
		format_count((uint64_t)((double)exits->sum.count * 1e9 / span_ns + 0.5), rate),
		100 * exits->sum.ns / span_ns);
	if (!table->n_rows)
		canvas_put(canvas, row, at, canvas_columns(canvas) - at, STYLE_NOTICE,
			   " · " EXITS_NONE);
	else if (table->lost)
		canvas_printf(canvas, row, at, STYLE_NOTICE, ", of what was seen · %s lost",
			      format_count(table->lost, lost));
	else if (table->tracing || model->is_range)
		canvas_printf(canvas, row, at, STYLE_DIM, " · %s records, none lost",
			      format_count(table->records, lost));
	else
		canvas_put(canvas, row, at, canvas_columns(canvas) - at, STYLE_DIM,
			   " · none lost · not traced now");
}

/* Draws how long all vCPUs waited, and who ran during the longest wait. */
static void exits_draw_longest(const struct ui_model *model, struct canvas *canvas, int row)
{
	const struct takers_table nothing = { .domid = UINT32_MAX };
	const struct takers_table *takers = snapshot_get_run(model->all)->takers;
	const struct exits_table *table = exits_of(model);
	const struct exits_wakes *longest = &table->wakes[0];
	char count[32], mean[32], most[32], name[TAKERS_NAME_BYTES];
	uint64_t n = 0;
	double ns = 0;
	int at = 1;

	for (unsigned i = 0; i < table->n_vcpus && i < GUEST_MAX_VCPUS; i++) {
		n += table->wakes[i].count;
		ns += table->wakes[i].ns;
		if (table->wakes[i].longest_ns > longest->longest_ns)
			longest = &table->wakes[i];
	}
	if (!n) {
		canvas_put(canvas, row, at, canvas_columns(canvas) - at, STYLE_DIM,
			   "No vCPU waited to run.");
		return;
	}
	at += canvas_printf(canvas, row, at, STYLE_NORMAL, "%s waits to run: mean %s",
			    format_count(n, count), format_time(ns / (double)n, mean));
	if (longest->longest_ns)
		at += canvas_printf(canvas, row, at, STYLE_NORMAL, ", longest %s",
				    format_time((double)longest->longest_ns, most));
	if (longest->longest_by == TAKER_XEN)
		canvas_put(canvas, row, at, canvas_columns(canvas) - at, STYLE_DIM,
			   ", as nobody ran there");
	else if (longest->longest_by != UINT32_MAX)
		canvas_printf(canvas, row, at, STYLE_DIM, ", as %s ran",
			      takers_name(takers ? takers : &nothing, longest->longest_by, name));
}

static const char *exits_find_obstacle(const struct ui_model *model)
{
	const struct exits_table *table = exits_of(model);

	if (!table)
		return model->is_range ? "Xen has not traced in this range of time."
				       : "Xen has not traced then, or not yet.";
	if (table->failure[0])
		return table->failure;
	if (!table->n_rows && !table->n_vcpus)
		return table->records ? "Xen traces; this guest has not exited yet."
				      : "Xen traces.";
	return NULL;
}

static void exits_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		       struct area area)
{
	struct view_exits *exits = view_exits(view);
	const char *obstacle = exits_find_obstacle(model);
	const struct rows_drawing drawing = { view, exits_draw_row, exits_draw_later_head };
	size_t page = area.rows > 5 ? (size_t)area.rows - 5 : 0;
	int row = area.row;

	exits->sort_row = -1;
	if (obstacle) {
		canvas_put(canvas, row + 1, 2, area.columns - 2, STYLE_NORMAL, obstacle);
		return;
	}
	exits_draw_summary(exits, model, canvas, row++);
	exits_draw_longest(model, canvas, row++);
	exits_draw_head(exits, canvas, row, rows_show(&exits->rows, page));
	exits_draw_more(exits, canvas, row++, page);
	rows_draw(&exits->rows, &drawing, model, canvas, row, page);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Shows or hides what the row LINE, of a reason or a vCPU, has below it. */
static void exits_toggle(struct view_exits *exits, const struct ui_model *model,
			 const struct rows_row *line)
{
	const struct exit_reason *reason;

	if (line->kind == EXITS_VCPU) {
		exits->open_vcpu = exits->open_vcpu == line->index + 1 ? 0 : line->index + 1;
		return;
	}
	reason = &exits_of(model)->rows[exits->shown[line->index].reason].reason;
	exits->is_open = !exits_is_open(exits, reason);
	exits->open = *reason;
}

/* Opens or closes the selected row, or the one above it that it belongs to. */
static struct request exits_unfold(struct view_exits *exits, const struct ui_model *model)
{
	const struct rows_row *line = rows_selected(&exits->rows);

	if (!exits_of(model) || !line || line->part == EXITS_BUCKETS)
		return request_of(REQUEST_NONE);
	while (line->kind == EXITS_FUNCTION || line->kind == EXITS_BUCKET)
		line--;
	exits_toggle(exits, model, line);
	list_select(&exits->rows.list, (size_t)(line - exits->rows.rows));
	return request_of(REQUEST_UPDATE);
}

static struct request exits_sort_by(struct view_exits *exits, enum exits_sort sort)
{
	exits->sort = sort;
	exits->sorted = true;
	return request_of(REQUEST_UPDATE);
}

/* Sorts rows by the next column to the left (STEP is -1) or to the right. */
static struct request exits_sort_beside(struct view_exits *exits, int step)
{
	return exits_sort_by(exits, (enum exits_sort)(((int)exits->sort + N_EXITS_SORTS + step) %
						      N_EXITS_SORTS));
}

static struct request exits_handle(struct view *view, const struct ui_model *model,
				   struct request request)
{
	struct view_exits *exits = view_exits(view);
	const struct rows_row *selected = rows_selected(&exits->rows);
	uint32_t frame = selected ? selected->frame : FRAME_NONE;

	if (request.code == REQUEST_ANNOTATE)
		return view_annotation_of(frame);
	if (request.code == REQUEST_SORT_LEFT)
		return exits_sort_beside(exits, -1);
	if (request.code == REQUEST_SORT_RIGHT || request.code == REQUEST_SORT_NEXT)
		return exits_sort_beside(exits, 1);
	if (request.code == REQUEST_UNFOLD || (request.code == REQUEST_OPEN && frame == FRAME_NONE))
		return exits_unfold(exits, model);
	return rows_handle(&exits->rows, model, request);
}

/* A click on a column without an order goes to the next column to the right that has one. */
static struct request exits_click_header(struct view_exits *exits, int column)
{
	for (int i = 0; i < N_EXITS_SORTS; i++)
		if (column <= exits_column_end((enum exits_sort)i, exits->narrow))
			return exits_sort_by(exits, (enum exits_sort)i);
	return request_of(REQUEST_NONE);
}

static struct request exits_click(struct view *view, const struct ui_model *model, int row,
				  int column)
{
	struct view_exits *exits = view_exits(view);

	(void)model;
	if (row == exits->sort_row)
		return exits_click_header(exits, column);
	return rows_click(&exits->rows, row);
}

/* clang-format off */
static const struct key exits_keys[] = {
	{ KEYS_UNFOLD, { '+', '=', 'e' }, .request = REQUEST_UNFOLD,
	  .names = "+ e", .help = "functions or waits of it" },
};
/* clang-format on */

const struct view_ops exits_ops = {
	.name = "exits to Xen",
	.size = sizeof(struct view_exits),
	.traits = VIEW_GUEST | VIEW_FUNCTIONS | VIEW_OPENS_CALLERS | VIEW_SEARCHED | VIEW_COLUMNS |
		  VIEW_ENDS_RANGE | VIEW_BACK_BY_ESC,
	.needs = VIEW_NEEDS_TRACE,
	.opener = { KEYS_VIEWS,
		    { 'O' },
		    .request = REQUEST_VIEW,
		    .views = VIEW_GUEST,
		    .opens = &exits_ops },
	.keys = exits_keys,
	.n_keys = sizeof(exits_keys) / sizeof(exits_keys[0]),
	.update = exits_update,
	.draw = exits_draw,
	.handle = exits_handle,
	.click = exits_click,
	.deinit = exits_view_deinit,
};
