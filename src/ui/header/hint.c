/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line above the bottom line. */
#include "config.h"

#include "ui/header/hint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/figures.h"
#include "xtop/query/groups.h"

#define HINT_TURN_NS 10000000000ULL /* time that one of two hints is shown */

/* --- names ------------------------------------------------------------------------------------ */

#define MIN_PERCENT 10 /* percentage of samples without a name that is worth a hint */

/* The module with most samples without a name; NULL if all have names. */
static const struct group_row *hint_worst_module(const struct groups *groups)
{
	const struct group_row *worst = NULL;

	for (size_t i = 0; i < groups->n; i++)
		if (!worst || groups->rows[i].unknown.self_ticks > worst->unknown.self_ticks)
			worst = &groups->rows[i];
	return worst && worst->unknown.self_ticks > 0 ? worst : NULL;
}

/* Names the worst module. A note of the resolver stays if no module is to blame. */
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

/* At the rate asked for, even stops of mean length exceed the budget. */
static void hint_set_long_stops(struct hint *hint, const struct ui_model *model, double needed)
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

/* Most stops are short. One long stop has used up the budget of many. */
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

/* SHARE and 5 % more, rounded up to two digits. */
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
		hint_set_long_stops(hint, model, hint_round_up(needed));
	else
		hint_set_long_stop(hint, model);
}

/* --- the line --------------------------------------------------------------------------------- */

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

/* Two hints take turns. */
static const char *hint_turn(const struct hint *hint, uint64_t now_ns)
{
	if (!hint->text[0] || !hint->budget[0])
		return hint->text[0] ? hint->text : hint->budget;
	return now_ns / HINT_TURN_NS % 2 ? hint->text : hint->budget;
}

int hint_draw(struct hint *hint, const struct ui_model *model, struct canvas *canvas, int row)
{
	const char *text;

	if (!model->all)
		return 0;
	if (hint->sequence != model->all->sequence) {
		hint_set(hint, model->all);
		hint_set_budget(hint, model);
	}
	text = hint_turn(hint, model->screen.now_ns);
	if (!text[0])
		return 0;
	canvas_put_name(canvas, row, 1, canvas_columns(canvas) - 2, STYLE_NOTICE, text);
	return 1;
}
