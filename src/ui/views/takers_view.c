/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who takes the guest's physical CPUs: the neighbours by their share of the steal, then the guest's
 * vCPUs with their physical CPU and who takes it, then what one can do. xtop looks at all vCPUs of
 * the host from the moment on at which this view is opened for the first time.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "ui/figures.h"
#include "ui/view.h"
#include "ui/views/rows.h"
#include "xtop/query/takers_advice.h"

#define TAKERS_FEW_ROWS 4
#define NARROW          60 /* columns below which weights, caps and affinities are left out */

enum takers_part { TAKERS_TAKERS, TAKERS_VCPUS };

struct view_takers {
	struct view view;
	struct rows rows; /* index: in the table's takers[], or in its vcpus[] */
	struct takers_advice advice;
};

static struct view_takers *view_takers(struct view *view)
{
	return (struct view_takers *)view;
}

/* The table of takers; NULL: none is known. */
static const struct takers_table *takers_of(const struct ui_model *model)
{
	return model->all ? snapshot_get_run(model->all)->takers : NULL;
}

/* How many takers have rows: those that took something. */
static size_t takers_count(const struct takers_table *table, bool totals)
{
	size_t n = 0;

	while (n < table->n_takers && n < TAKERS_MAX &&
	       taken_get(table->takers[n].share, totals) >= 0.0005)
		n++;
	return n;
}

static void takers_view_deinit(struct view *view)
{
	rows_deinit(&view_takers(view)->rows);
}

static void takers_add_rows(struct rows *rows, const struct takers_table *table, bool totals)
{
	size_t n = takers_count(table, totals);

	for (size_t i = 0; i < n; i++)
		rows_add(rows, (struct rows_row){ .part = TAKERS_TAKERS,
						  .index = i,
						  .key = table->takers[i].domid,
						  .frame = FRAME_NONE });
	for (size_t i = 0; i < table->n_vcpus && i < GUEST_MAX_VCPUS; i++)
		rows_add(rows, (struct rows_row){ .part = TAKERS_VCPUS,
						  .index = i,
						  .key = ~(uint64_t)i,
						  .frame = FRAME_NONE });
}

static struct xtop_error *takers_update(struct view *view, const struct ui_model *model)
{
	struct view_takers *takers = view_takers(view);
	const struct takers_table *table = takers_of(model);

	takers->advice.n = 0;
	if (!rows_begin(&takers->rows, TAKERS_MAX + GUEST_MAX_VCPUS))
		return error_create("no memory for the view of neighbours");
	if (table) {
		takers_add_rows(&takers->rows, table, model->shares.totals);
		takers_advise(table, model->shares.totals, &takers->advice);
	}
	rows_end(&takers->rows);
	return NULL;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static const char *takers_format_count(uint32_t count, char text[16])
{
	snprintf(text, 16, "%u", count);
	return count ? text : "-";
}

static void takers_draw_taker(const struct ui_model *model, const struct taker *taker,
			      struct canvas *canvas, int row)
{
	const struct takers_table *table = takers_of(model);
	bool totals = model->shares.totals, narrow = canvas_columns(canvas) < NARROW;
	char name[TAKERS_NAME_BYTES], weight[16], cap[16];
	int at = 8;

	view_put_share(canvas, row, 0, 100 * taken_get(taker->share, totals));
	at += canvas_printf(canvas, row, at, STYLE_DIM, " ±%4.1f",
			    100 * 1.96 * taken_get(taker->error, totals));
	if (taker->domid == TAKER_XEN)
		at += canvas_printf(canvas, row, at, STYLE_DIM, " %6s", "");
	else
		at += canvas_printf(canvas, row, at, STYLE_NORMAL, " %6.2f",
				    taken_get(taker->cpus, totals));
	if (!narrow)
		at += canvas_printf(canvas, row, at, STYLE_NORMAL, " %7s %5s",
				    takers_format_count(taker->weight, weight),
				    takers_format_count(taker->cap, cap));
	canvas_put_name(canvas, row, at + 2, canvas_columns(canvas) - at - 2, STYLE_NORMAL,
			takers_name(table, taker->domid, name));
}

static void takers_draw_vcpu(const struct ui_model *model, size_t index, struct canvas *canvas,
			     int row)
{
	const struct takers_table *table = takers_of(model);
	const struct taken_vcpu *vcpu = &table->vcpus[index];
	bool totals = model->shares.totals, narrow = canvas_columns(canvas) < NARROW;
	char text[TAKERS_ADVICE_BYTES], time[32];
	double waited = taken_get(vcpu->waited, totals);
	int at = 1, room;

	at += canvas_printf(canvas, row, at, STYLE_NORMAL, "%4zu ", index);
	if (!vcpu->online) {
		canvas_put(canvas, row, at, canvas_columns(canvas) - at, STYLE_DIM, "offline");
		return;
	}
	at += canvas_printf(canvas, row, at, STYLE_NORMAL, "%4u", vcpu->cpu);
	at += canvas_printf(canvas, row, at, waited >= 0.05 ? STYLE_NOTICE : STYLE_NORMAL, " %6.1f",
			    100 * waited);
	if (!narrow)
		at += canvas_printf(canvas, row, at, STYLE_NORMAL, " %8s  %-8.8s",
				    vcpu->longest_ns ? format_time((double)vcpu->longest_ns, time)
						     : "-",
				    vcpu->affinity[0] ? vcpu->affinity : "all");
	takers_describe_vcpu(table, vcpu, text);
	room = canvas_columns(canvas) - at - 2;
	canvas_put(canvas, row, at + 2, room, STYLE_NORMAL, text);
	/* The first ones take most, so the end of the text is cut, not its middle. */
	if (canvas_text_width(text) > room)
		canvas_put(canvas, row, canvas_columns(canvas) - 1, 1, STYLE_NORMAL, "…");
}

static void takers_draw_head(struct canvas *canvas, int row, unsigned part)
{
	bool narrow = canvas_columns(canvas) < NARROW;

	canvas_fill(canvas, row, 0, canvas_columns(canvas), STYLE_HEADER);
	if (part == TAKERS_VCPUS)
		canvas_put(canvas, row, 1, canvas_columns(canvas) - 1, STYLE_HEADER,
			   narrow ? "vCPU  CPU  Steal  Taken by"
				  : "vCPU  CPU  Steal  Longest  May run   Taken by");
	else
		canvas_put(canvas, row, 2, canvas_columns(canvas) - 2, STYLE_HEADER,
			   narrow ? "Share     ±    CPUs  Neighbour"
				  : "Share     ±    CPUs  Weight   Cap  Neighbour");
}

static void takers_draw_row(struct view *view, const struct ui_model *model,
			    const struct rows_row *line, struct canvas *canvas, int row)
{
	(void)view;
	if (line->part == TAKERS_TAKERS)
		takers_draw_taker(model, &takers_of(model)->takers[line->index], canvas, row);
	else
		takers_draw_vcpu(model, line->index, canvas, row);
}

static void takers_draw_summary(const struct takers_table *table, bool totals,
				struct canvas *canvas, int row)
{
	char looks[40];
	int at = 1;

	at += canvas_printf(canvas, row, at, STYLE_NORMAL, "Steal %.1f %% of the vCPUs' time",
			    100 * taken_get(table->steal, totals));
	if (table->pool.n_cpus)
		at += canvas_printf(canvas, row, at, STYLE_DIM, " · pool %u: %u CPUs, %u idle",
				    table->pool.id, table->pool.n_cpus, table->pool.n_idle);
	if (table->schedule.weight)
		at += canvas_printf(canvas, row, at, STYLE_DIM, " · weight %u",
				    table->schedule.weight);
	if (table->schedule.cap)
		at += canvas_printf(canvas, row, at, STYLE_DIM, " · cap %u %%",
				    table->schedule.cap);
	snprintf(looks, sizeof(looks), " · %llu looks", (unsigned long long)table->looks);
	if (at + (int)strlen(looks) <= canvas_columns(canvas))
		canvas_printf(canvas, row, at, STYLE_DIM, "%s", looks);
}

/* The bytes of TEXT that go on a line of at most WIDTH bytes. Words stay whole if they can. */
static size_t takers_fit(const char *text, int width)
{
	size_t n = strlen(text), most = (size_t)(width > 1 ? width : 1), end = most;

	if (n <= most)
		return n;
	while (end && text[end] != ' ')
		end--;
	return end ? end : most;
}

static int takers_count_lines(const char *text, int width)
{
	int n = 0;

	for (; *text; n++) {
		text += takers_fit(text, width);
		text += strspn(text, " ");
	}
	return n;
}

/* Draws a line of advice on as many rows as it takes. Returns the next row. */
static int takers_draw_advice(const char *text, struct canvas *canvas, struct area area, int row)
{
	char line[TAKERS_ADVICE_BYTES];

	for (; *text && row < area.row + area.rows; row++) {
		size_t n = takers_fit(text, area.columns - 2);

		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		canvas_put(canvas, row, 1, area.columns - 1, STYLE_NOTICE, line);
		text += n;
		text += strspn(text, " ");
	}
	return row;
}

static const char *takers_find_obstacle(const struct ui_model *model)
{
	const struct takers_table *table = takers_of(model);

	if (!table)
		return model->is_range
			       ? "Nothing is known of who took the CPUs in this range of time."
			       : "No look at the host then, or not yet.";
	if (table->failure[0])
		return table->failure;
	if (table->gone)
		return "The guest has gone.";
	return table->looks ? NULL : "xtop looks at the host.";
}

static void takers_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			struct area area)
{
	struct view_takers *takers = view_takers(view);
	const struct rows_drawing drawing = { view, takers_draw_row, takers_draw_head };
	const char *obstacle = takers_find_obstacle(model);
	int row = area.row, lines = 0, rows = area.rows - 2;

	if (obstacle) {
		canvas_put(canvas, row + 1, 2, area.columns - 2, STYLE_NORMAL, obstacle);
		return;
	}
	takers_draw_summary(takers_of(model), model->shares.totals, canvas, row++);
	for (size_t i = 0; i < takers->advice.n; i++)
		lines += takers_count_lines(takers->advice.lines[i], area.columns - 2);
	/* Where there is little room, some rows are worth more than all of the advice. */
	if (rows > TAKERS_FEW_ROWS)
		rows = rows - lines > TAKERS_FEW_ROWS ? rows - lines : TAKERS_FEW_ROWS;
	rows = rows > 1 ? rows - 1 : 0;
	takers_draw_head(canvas, row++, rows_show(&takers->rows, (size_t)rows));
	row = rows_draw(&takers->rows, &drawing, model, canvas, row, (size_t)rows) + 1;
	for (size_t i = 0; i < takers->advice.n && row < area.row + area.rows; i++)
		row = takers_draw_advice(takers->advice.lines[i], canvas, area, row);
}

/* --- requests --------------------------------------------------------------------------------- */

static struct request takers_open(const struct rows_row *line, const struct takers_table *table)
{
	uint32_t domid;

	if (!line || !table || line->part != TAKERS_TAKERS)
		return request_of(REQUEST_NONE);
	domid = table->takers[line->index].domid;
	if (!taker_is_domain(domid) || domid == table->domid)
		return request_of(REQUEST_NONE);
	return (struct request){ .code = REQUEST_PROFILE_OTHER, .domid = domid };
}

static struct request takers_handle(struct view *view, const struct ui_model *model,
				    struct request request)
{
	struct rows *rows = &view_takers(view)->rows;

	if (request.code == REQUEST_OPEN)
		return takers_open(rows_selected(rows), takers_of(model));
	return rows_handle(rows, model, request);
}

/* clang-format off */
static const struct key takers_keys[] = {
	{ KEYS_OPEN, { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, .request = REQUEST_OPEN,
	  .names = "Enter Right", .help = "profile the neighbour" },
};
/* clang-format on */

const struct view_ops takers_ops = {
	.name = "who takes the CPUs",
	.size = sizeof(struct view_takers),
	.traits = VIEW_GUEST | VIEW_ENDS_RANGE | VIEW_BACK_BY_LEFT,
	.needs = VIEW_NEEDS_TAKERS,
	.opener = { KEYS_VIEWS,
		    { 'T' },
		    .request = REQUEST_VIEW,
		    .views = VIEW_GUEST,
		    .opens = &takers_ops },
	.keys = takers_keys,
	.n_keys = sizeof(takers_keys) / sizeof(takers_keys[0]),
	.update = takers_update,
	.draw = takers_draw,
	.handle = takers_handle,
	.deinit = takers_view_deinit,
};
