/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header's line of the last ten minutes.
 *
 *	 3:20 ▕ ▂▅[▇█▇]⣶⣤!▂▏ busy 66 steal 5 stopped 0.24 %
 *
 * The newest moment is on the right. The height of a cell is the share of time in which vCPUs ran
 * or wanted to run. A cell with dots, in the colour of a notice, says that other guests took 5 % of
 * the time. A mark in the colour of an alert says that xtop took more than its budget. A question
 * mark says that most ticks there gave no sample, as the resolver or dom0 was behind. The figures
 * belong to the moment or range that is shown. The line is there from the first picture on, so that
 * rows below do not move.
 */
#include "config.h"

#include "ui/header/minutes.h"

#include <stdio.h>

#include "ui/figures.h"
#include "ui/guest_screen.h"

#define MINUTES_LABEL_CELLS 6  /* " 9:58" and a blank */
#define MINUTES_WORDS_CELLS 33 /* " busy 100 steal 10 stopped 0.24 %" */
#define MINUTES_WORDS_FROM  64 /* narrower screens show only "busy 100" */
#define MINUTES_BUSY_CELLS  9
#define MINUTES_STEAL       0.05 /* share of steal from which on a cell has dots */
#define MINUTES_GAP         0.5  /* share of ticks without a sample that makes a cell a gap */

/* Shares of time, 0..1. */
struct minutes_load {
	double busy, steal, stopped;
	double gap; /* share of ticks that were lost or missed */
};

/* --- loads ------------------------------------------------------------------------------------ */

static double minutes_stopped(const struct sampler_counts *from, const struct sampler_counts *to)
{
	return to->elapsed_ns > from->elapsed_ns && to->stopped_ns >= from->stopped_ns
		       ? (double)(to->stopped_ns - from->stopped_ns) /
				 (double)(to->elapsed_ns - from->elapsed_ns)
		       : 0;
}

static double minutes_gap(const struct sampler_counts *from, const struct sampler_counts *to)
{
	double gap = (double)(to->lost + to->missed) - (double)(from->lost + from->missed),
	       all = (double)(to->ticks + to->missed) - (double)(from->ticks + from->missed);

	return all > 0 ? gap / all : 0;
}

/* The ticks of all vCPUs together from FROM to TO, or from a reset of the profile in between. */
static struct snapshot_vcpu minutes_sum(const struct snapshot *from, const struct snapshot *to)
{
	static const struct snapshot_vcpu none;
	bool was_reset = snapshot_was_reset(from, to);
	struct snapshot_vcpu sum = { .user = 0 };

	for (unsigned i = 0; i < to->run->n_vcpus && i < from->run->n_vcpus; i++)
		vcpu_add_increase(&sum, 1, was_reset ? &none : &from->run->vcpus[i],
				  &to->run->vcpus[i]);
	return sum;
}

/*
 * The load from moment FIRST to moment LAST. If no sample came in between, because the budget pays
 * for few, the load is the one since the sample before.
 */
static struct minutes_load minutes_load(const struct history *history, size_t first, size_t last)
{
	const struct snapshot *from = history_head(history, first),
			      *to = history_head(history, last);
	struct snapshot_vcpu sum = minutes_sum(from, to);
	struct vcpu_shares shares;

	while (first && !(snapshot_vcpu_ticks(&sum) > 0) &&
	       to->run->sampler.state == SAMPLER_RUNNING)
		sum = minutes_sum(history_head(history, --first), to);
	shares = vcpu_shares_of(&sum);
	return (struct minutes_load){ .busy = shares.user + shares.kernel + shares.lock,
				      .steal = shares.steal,
				      .stopped = minutes_stopped(&from->run->sampler,
								 &to->run->sampler),
				      .gap = minutes_gap(&from->run->sampler, &to->run->sampler) };
}

/* --- places ----------------------------------------------------------------------------------- */

/*
 * A cell shows CELL_NS of the guest's time. Cells are counted from time 0, so that a complete cell
 * changes only with CELL_NS.
 */
struct minutes_place {
	int column, cells; /* the first column of the cells, and their number */
	size_t n;          /* number of moments, until the screen was frozen */
	uint64_t cell_ns;
	uint64_t last;     /* number of the last cell, counted from time 0 */
};

static uint64_t minutes_cell_of(const struct ui_model *model, const struct minutes_place *place,
				size_t moment)
{
	return history_head(model->history, moment)->time_ns / place->cell_ns;
}

/* All moments fit; if the guest was paused in between, only the last ones may. */
static struct minutes_place minutes_place(const struct ui_model *model, int width)
{
	int words = width < MINUTES_WORDS_FROM ? MINUTES_BUSY_CELLS : MINUTES_WORDS_CELLS;
	struct minutes_place place = { .column = 1 + MINUTES_LABEL_CELLS + 1,
				       .n = history_count(model->history) };
	size_t per_cell;

	if (model->guest->frozen_at)
		place.n = history_find(model->history, model->guest->frozen_at + 1);

	place.cells = width - place.column - 1 - words - 1;
	place.cells = place.cells < 2 ? 2 : place.cells;
	per_cell = place.n / (size_t)(place.cells - 1) + 1;
	place.cell_ns = per_cell * HISTORY_STEP_NS;
	place.last = place.n ? minutes_cell_of(model, &place, place.n - 1) : 0;
	return place;
}

/*
 * Finds the moments (*FIRSTP, *LASTP] of CELL. The very first moment belongs to the cell of the
 * second one. Returns false if CELL has no moments.
 */
static bool minutes_moments_of(const struct ui_model *model, const struct minutes_place *place,
			       int cell, size_t *firstp, size_t *lastp)
{
	uint64_t back = (uint64_t)(place->cells - 1 - cell);
	size_t first, last = place->n;

	if (back > place->last)
		return false;
	while (last > 1 && minutes_cell_of(model, place, last - 1) > place->last - back)
		last--;
	first = last;
	while (first > 1 && minutes_cell_of(model, place, first - 1) == place->last - back)
		first--;
	if (first == last)
		return false;
	*firstp = first - 1;
	*lastp = last - 1;
	return true;
}

size_t minutes_moment_at(const struct ui_model *model, int column)
{
	struct minutes_place place = minutes_place(model, model->screen.columns);
	int cell = column - place.column;
	size_t first, last;

	if (cell < 0 || cell >= place.cells || !place.n ||
	    !minutes_moments_of(model, &place, cell, &first, &last))
		return history_count(model->history);
	return last;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static enum style minutes_style(const struct ui_model *model, const struct minutes_load *load)
{
	if (model->budget > 0 && load->stopped > model->budget)
		return STYLE_ALERT;
	return load->gap >= MINUTES_GAP || load->steal >= MINUTES_STEAL ? STYLE_NOTICE
									: STYLE_BAR_USER;
}

static const char *minutes_bar(const struct ui_model *model, const struct minutes_load *load)
{
	static const char *const bars[] = { "·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const dots[] = { "⣀", "⣤", "⣶", "⣿" };
	double share = load->busy + load->steal;

	share = share < 1 ? share : 1;
	switch (minutes_style(model, load)) {
	case STYLE_ALERT:
		return "!";
	case STYLE_NOTICE:
		return load->gap >= MINUTES_GAP ? "?" : dots[(int)(3 * share + 0.5)];
	default:
		return bars[share < 0.01 ? 0 : 1 + (int)(7 * share + 0.5)];
	}
}

/* Whether the moment with SEQUENCE lies in the cell of the moments (FIRST, LAST]. */
static bool minutes_has(const struct ui_model *model, size_t first, size_t last, uint64_t sequence)
{
	size_t at = sequence ? history_find(model->history, sequence) : 0;

	return sequence && (at > first || (!first && !at)) && at <= last;
}

static void minutes_draw_cell(const struct ui_model *model, const struct minutes_place *place,
			      struct canvas *canvas, int row, int cell)
{
	const struct guest_screen *guest = model->guest;
	struct minutes_load load;
	size_t first, last;
	const char *text;

	if (!minutes_moments_of(model, place, cell, &first, &last))
		return;
	load = minutes_load(model->history, first, last);
	text = minutes_has(model, first, last, guest->range.begin) ? "["
	       : minutes_has(model, first, last, guest->range.end) ? "]"
								   : minutes_bar(model, &load);
	canvas_put(canvas, row, place->column + cell, 1, minutes_style(model, &load), text);
}

/* The load of the range or moment shown. Returns false if the history does not have it. */
static bool minutes_shown(const struct ui_model *model, struct minutes_load *load)
{
	const struct guest_screen *guest = model->guest;
	size_t last = guest_screen_moment(guest), first = last ? last - 1 : 0;

	if (guest->is_range)
		first = history_find(model->history, guest->range.begin);
	if (first >= last || last >= history_count(model->history))
		return false;
	*load = minutes_load(model->history, first, last);
	return true;
}

static void minutes_draw_words(const struct ui_model *model, struct canvas *canvas, int row,
			       int column)
{
	struct minutes_load load;

	if (!minutes_shown(model, &load))
		return;
	canvas_printf(canvas, row, column, STYLE_NORMAL,
		      canvas_columns(canvas) < MINUTES_WORDS_FROM
			      ? "busy %.0f"
			      : "busy %.0f steal %.0f stopped %.2f %%",
		      100 * load.busy, 100 * load.steal, 100 * load.stopped);
}

/* The time from the first of N moments to the last. */
static uint64_t minutes_covered_ns(const struct ui_model *model, size_t n)
{
	return n ? history_age_ns(model->history, 0) - history_age_ns(model->history, n - 1) : 0;
}

bool minutes_draw(const struct ui_model *model, struct canvas *canvas, int row)
{
	struct minutes_place place;
	char label[32];

	if (!model->all || !model->all->run)
		return false;
	place = minutes_place(model, canvas_columns(canvas));
	format_elapsed(minutes_covered_ns(model, place.n), label);
	canvas_put_right(canvas, row, 0, MINUTES_LABEL_CELLS, STYLE_DIM, label);
	canvas_put(canvas, row, place.column - 1, 1, STYLE_DIM, "▕");
	for (int cell = 0; cell < place.cells; cell++)
		minutes_draw_cell(model, &place, canvas, row, cell);
	canvas_put(canvas, row, place.column + place.cells, 1, STYLE_DIM, "▏");
	minutes_draw_words(model, canvas, row, place.column + place.cells + 2);
	return true;
}
