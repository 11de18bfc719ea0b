/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines above the bottom line; see hint.h. */
#include "config.h"

#include "ui/header/hint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/figures.h"
#include "xtop/query/groups.h"

/* --- names ------------------------------------------------------------------------------------ */

#define MIN_PERCENT 10 /* of samples without a name */

/* The module in which most samples have no name; NULL: there is none. */
static const struct group_row *hint_worst_module(const struct groups *groups)
{
	const struct group_row *worst = NULL;

	for (size_t i = 0; i < groups->n; i++)
		if (!worst || groups->rows[i].unknown.self_ticks > worst->unknown.self_ticks)
			worst = &groups->rows[i];
	return worst && worst->unknown.self_ticks > 0 ? worst : NULL;
}

/* Names the worst module. If that is none, what the resolver had to say is left as it is. */
static void hint_set_unknown(struct hint *hint, const struct snapshot *snapshot)
{
	const struct group_row *worst;
	struct groups groups = { 0 };

	error_destroy(groups_build_modules(snapshot, true, &groups));
	worst = hint_worst_module(&groups);
	if (worst) {
		double percent =
			percent_of(worst->unknown.self_ticks, groups.whole.children_ticks);

		if (worst->name[0])
			snprintf(hint->text, sizeof(hint->text),
				 "%.1f %% of samples in %.80s have no names: give its file with -k",
				 percent, worst->name);
		else if (!hint->text[0])
			snprintf(hint->text, sizeof(hint->text),
				 "%.1f %% of samples have no names: "
				 "give the guest's symbols with -k",
				 percent);
	}
	groups_deinit(&groups);
}

/* --- the budget ------------------------------------------------------------------------------- */

/* What the mean stop costs at the rate that was asked for is more than the budget. */
static void hint_set_dear_stops(struct hint *hint, const struct ui_model *model, double needed)
{
	double mean_ns = snapshot_get_run(model->all)->stopped.mean_ns,
	       asked = snapshot_get_run(model->all)->sampler.rate_asked_hz;
	double other = needed < 1 ? needed : 1;
	char time[32];

	snprintf(hint->budget, sizeof(hint->budget),
		 "stops take %s: %.3g Hz with --budget=%.3g, %.3g Hz with --budget=%.3g",
		 format_time(mean_ns, time), model->budget * 1e9 / mean_ns, 100 * model->budget,
		 fmin(other * 1e9 / mean_ns, asked), 100 * other);
}

/* Most stops are cheap. A long one is paid back. */
static void hint_set_long_stop(struct hint *hint, const struct ui_model *model)
{
	double max_ns = (double)snapshot_get_run(model->all)->stopped.max_ns;
	double other = fmin(5 * model->budget, 1);
	char time[3][32];

	snprintf(hint->budget, sizeof(hint->budget),
		 "a stop of %s takes %s of the budget of %.3g %%, %s of --budget=%.3g",
		 format_time(max_ns, time[0]), format_time(max_ns / model->budget, time[1]),
		 100 * model->budget, format_time(max_ns / other, time[2]), 100 * other);
}

/* Rounded up to two digits, and a little more than is needed. */
static double hint_round_up(double share)
{
	double unit = pow(10, floor(log10(share)) - 1);

	return ceil(1.05 * share / unit) * unit;
}

static void hint_set_budget(struct hint *hint, const struct ui_model *model)
{
	const struct snapshot *all = model->all;
	double needed = snapshot_get_run(all)->stopped.mean_ns *
			snapshot_get_run(all)->sampler.rate_asked_hz / 1e9;

	hint->budget[0] = '\0';
	if (!(model->budget > 0) || !(snapshot_get_run(all)->stopped.mean_ns > 0) ||
	    !recent_is_throttled(model->recent))
		return;
	if (needed > model->budget)
		hint_set_dear_stops(hint, model, hint_round_up(needed));
	else
		hint_set_long_stop(hint, model);
}

/* --- both ------------------------------------------------------------------------------------- */

static void hint_set(struct hint *hint, const struct snapshot *snapshot)
{
	const struct resolver_counts *counts = &snapshot->resolver;
	double unnamed =
		counts->weight_unknown + counts->weight_function + counts->weight_offset;
	double unknown = percent_of(unnamed, counts->weight);

	hint->sequence = snapshot->sequence;
	snprintf(hint->text, sizeof(hint->text), "%s", snapshot_get_run(snapshot)->notes[0]);
	if (unknown >= MIN_PERCENT && !snapshot_get_run(snapshot)->fetching)
		hint_set_unknown(hint, snapshot);
	if (snapshot_get_run(snapshot)->recording_errno)
		snprintf(hint->text, sizeof(hint->text), "the recording is cut short: %s",
			 strerror(snapshot_get_run(snapshot)->recording_errno));
}

static int hint_put(const char *text, struct canvas *canvas, int row)
{
	if (text[0])
		canvas_put_name(canvas, row, 1, canvas_columns(canvas) - 2, STYLE_NOTICE, text);
	return text[0] != '\0';
}

int hint_draw(struct hint *hint, const struct ui_model *model, struct canvas *canvas, int row)
{
	int rows;

	if (!model->all)
		return 0;
	if (hint->sequence != model->all->sequence) {
		hint_set(hint, model->all);
		hint_set_budget(hint, model);
	}
	rows = hint_put(hint->text, canvas, row);
	return rows + hint_put(hint->budget, canvas, row - rows);
}
