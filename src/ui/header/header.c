/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines above every view. */
#include "config.h"

#include "ui/header/header.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/figures.h"
#include "ui/guest_screen.h"
#include "ui/header/line.h"
#include "ui/header/minutes.h"
#include "ui/vcpu_bar.h"

#define MINUTES_MIN_ROWS 20 /* rows of the screen from which on it shows the minutes */
#define HEADER_STATE_BYTES 160

/* --- line 1: the guest, and what sampling costs it -------------------------------------------- */

static void header_add_rate(const struct recent *recent, const struct sampler_counts *sampler,
			    struct line *line)
{
	double reached = recent->rate_hz, asked = sampler->rate_asked_hz;

	if (recent->lowered && !(reached > 0)) /* no sample in the window yet */
		line_add(line, true, 3, STYLE_NOTICE, "<%.2g of %.4g Hz (budget)",
			 1e9 / recent->window_ns, asked);
	else if (recent->lowered)
		line_add(line, true, 3, STYLE_NOTICE, "%.3g of %.4g Hz (budget)", reached, asked);
	else if (asked > 0 && (reached < 0.95 * asked || reached > 1.05 * asked) && reached > 0)
		line_add(line, true, 3, STYLE_NORMAL, "%.3g of %.4g Hz", reached, asked);
	else
		line_add(line, true, 3, STYLE_NORMAL, "%.4g Hz", asked);
}

/* Losses other than ticks. A count is shown if it is not 0. */
struct header_losses {
	struct {
		const char *what;
		uint64_t count;
	} all[5];
};

static struct header_losses header_losses_of(const struct snapshot *snapshot)
{
	return (struct header_losses){ {
		{ "refused", snapshot_get_run(snapshot)->sampler.refused },
		{ "faults", snapshot_get_run(snapshot)->sampler.faults },
		{ "sampler restarted", snapshot_get_run(snapshot)->sampler.restarts },
		{ "bad records", snapshot->resolver.bad_records },
		{ "names lost", snapshot->resolver.frames_refused },
	} };
}

static void header_add_losses(const struct snapshot *snapshot, struct line *line)
{
	const struct header_losses losses = header_losses_of(snapshot);
	char buffer[32];

	for (size_t i = 0; i < sizeof(losses.all) / sizeof(losses.all[0]); i++)
		if (losses.all[i].count)
			line_add(line, true, 2, STYLE_NOTICE, "%s %s", losses.all[i].what,
				 format_count(losses.all[i].count, buffer));
}

static void header_draw_guest(const struct ui_model *model, struct canvas *canvas, int row)
{
	const struct snapshot *snapshot = model->all;
	const struct guest_screen *guest = model->guest;
	const char *system = snapshot && snapshot_get_run(snapshot)->system[0]
				     ? snapshot_get_run(snapshot)->system
				     : guest->system;
	struct line line = { .n = 0 };
	char buffer[32];

	line_add(&line, false, 0, STYLE_TITLE, "%s", guest->name);
	if (model->n_guests > 1)
		line_add(&line, false, 5, STYLE_DIM, "Tab: %zu more", model->n_guests - 1);
	line_add(&line, false, 4, STYLE_NORMAL, "%s", guest->kind);
	if (guest->pipeline->guest.n_vcpus)
		line_add(&line, false, 7, STYLE_NORMAL, "%u vCPU", guest->pipeline->guest.n_vcpus);
	line_add(&line, false, 6, STYLE_NORMAL, "%s", system);
	if (!strncmp(system, "Linux ", 6)) /* the short form has no "-56-amd64" */
		line_shorten(&line, "-+");
	if (snapshot && snapshot->run) {
		const struct sampler_counts *sampler = &snapshot_get_run(snapshot)->sampler;

		header_add_rate(model->recent, sampler, &line);
		line_add(&line, true, 1, style_of_stopped(model, sampler->stopped_share),
			 "stopped %.2f %%", 100 * sampler->stopped_share);
		if (snapshot_get_run(snapshot)->stopped.n)
			line_add(&line, true, 8, STYLE_NORMAL, "p50 %s",
				 format_time((double)snapshot_get_run(snapshot)->stopped.p50_ns,
					     buffer));
		line_add(&line, true, 2, sampler->lost ? STYLE_NOTICE : STYLE_NORMAL, "lost %s",
			 format_count(sampler->lost, buffer));
		header_add_losses(snapshot, &line);
	}
	line_draw(&line, canvas, row);
}

/* --- line 2: a bar for each vCPU, or one for all ---------------------------------------------- */

static void header_draw_bars(const struct ui_model *model, struct canvas *canvas, int row)
{
	unsigned n = snapshot_get_run(model->all)->n_vcpus < GUEST_MAX_VCPUS
			     ? snapshot_get_run(model->all)->n_vcpus
			     : GUEST_MAX_VCPUS;
	const struct snapshot_vcpu *vcpus = model->recent->vcpus;
	int room = canvas_columns(canvas) - 2, width = room / (int)n;
	static const struct snapshot_vcpu none;
	struct snapshot_vcpu all = { .user = 0 };
	char name[32];
	struct vcpu_bar bar = { .name = name, .has_locks = model_has_lock_waits(model) };

	if (width >= 6 + 1 + VCPU_BAR_MIN_CELLS + 7) {
		for (unsigned i = 0; i < n; i++) {
			snprintf(name, sizeof(name), "vCPU%u", i);
			bar.shares = vcpu_shares_of(&vcpus[i]);
			vcpu_bar_draw_named(&bar, canvas, row, 1 + (int)i * width, width - 2);
		}
		return;
	}
	for (unsigned i = 0; i < n; i++)
		vcpu_add_increase(&all, 1, &none, &vcpus[i]);
	snprintf(name, sizeof(name), "%u vCPUs", n);
	bar.shares = vcpu_shares_of(&all);
	vcpu_bar_draw_named(&bar, canvas, row, 1, room);
}

/* --- line 3: what picture this is ------------------------------------------------------------- */

/*
 * Writes why sampling has stopped or ended to TEXT; while sampling goes on, the pipeline's message
 * WHY. TEXT may become "". Returns the style of TEXT.
 */
static enum style header_describe_state(const struct snapshot *snapshot, const char *why,
					char text[HEADER_STATE_BYTES])
{
	text[0] = '\0';
	switch (snapshot_get_run(snapshot)->sampler.state) {
	case SAMPLER_STARTING:
	case SAMPLER_RUNNING:
		snprintf(text, HEADER_STATE_BYTES, "%s", why);
		return STYLE_NOTICE;
	case SAMPLER_HUNG:
		snprintf(text, HEADER_STATE_BYTES, "the sampler hung and restarts soon");
		return STYLE_NOTICE;
	case SAMPLER_GUEST_PAUSED:
		snprintf(text, HEADER_STATE_BYTES, "%s",
			 why[0] ? why : "paused by an administrator");
		return STYLE_NOTICE;
	case SAMPLER_GUEST_AWAY:
		snprintf(text, HEADER_STATE_BYTES, "%.120s: last view",
			 why[0] ? why : "the guest is gone");
		return STYLE_ALERT;
	case SAMPLER_GUEST_GONE:
		snprintf(text, HEADER_STATE_BYTES, "the guest is gone: last view");
		return STYLE_ALERT;
	case SAMPLER_ENDED:
		snprintf(text, HEADER_STATE_BYTES, "end of samples%s%.120s", why[0] ? ": " : "",
			 why);
		return why[0] ? STYLE_ALERT : STYLE_NOTICE;
	case SAMPLER_FAILED:
		snprintf(text, HEADER_STATE_BYTES, "sampling failed%s%.120s", why[0] ? ": " : "",
			 why);
		return STYLE_ALERT;
	}
	return STYLE_NORMAL;
}

static const char *guest_message(const struct guest_screen *guest)
{
	const struct ui_pipeline *pipeline = guest->pipeline;

	return pipeline->message ? pipeline->message(pipeline->context) : "";
}

/* Whether TEXT begins with the name of the guest, as in "web02 is gone". */
static bool header_names_guest(const char *text, const char *name)
{
	size_t length = strlen(name);

	return strncmp(text, name, length) == 0 && text[length] == ' ';
}

/* Adds the guest's state and, in a pair, the state of the other guest. */
static void header_add_state(const struct ui_model *model, struct line *line)
{
	const struct snapshot *snapshot = model->all;
	const struct guest_screen *guest = model->guest, *against = guest->against;
	char text[HEADER_STATE_BYTES];
	enum style style = header_describe_state(snapshot, guest_message(guest), text);

	line_add(line, false, 0, style, "%s", text);
	if (snapshot->at_end && snapshot_get_run(snapshot)->sampler.state <= SAMPLER_RUNNING)
		line_add(line, false, 0, STYLE_NOTICE, "end of samples");
	if (!against)
		return;
	style = header_describe_state(guest->baseline, guest_message(against), text);
	if (header_names_guest(text, against->name))
		line_add(line, false, 0, style, "%s", text);
	else if (text[0])
		line_add(line, false, 0, style, "%.40s: %s", against->name, text);
}

/* Whether no newer snapshot will come. */
static bool snapshot_is_last(const struct snapshot *snapshot)
{
	return snapshot->at_end || snapshot_get_run(snapshot)->sampler.state >= SAMPLER_GUEST_AWAY;
}

/* Makes "23:40:12.345 UTC" or "1234.567 s": there is no room for days and microseconds. */
static const char *header_format_clock(enum clock_kind kind, uint64_t ns,
				       char text[CLOCKS_TEXT_BYTES])
{
	char *point, *unit;

	clocks_format(kind, ns, text);
	point = strchr(text, '.');
	unit = strrchr(text, ' ');
	if (point && unit > point + 4)
		memmove(point + 4, unit, strlen(unit) + 1);
	return point && point - text > 11 && text[10] == ' ' ? text + 11 : text;
}

/* When the picture was taken, or when its range begins and ends, on the clock of --clock. */
static void header_add_time(const struct ui_model *model, struct line *line)
{
	const struct snapshot *snapshot = model->all;
	char text[2][CLOCKS_TEXT_BYTES];
	uint64_t from_ns, to_ns;

	if (!model->time.is_shown)
		return;
	if (!clocks_convert(&snapshot->first_clocks, model->time.clock, snapshot->started_ns,
			    &from_ns) ||
	    !clocks_convert(&snapshot->clocks, model->time.clock, snapshot->time_ns, &to_ns)) {
		line_add(line, false, 3, STYLE_NOTICE, "time: %s not known",
			 clocks_name(model->time.clock));
		return;
	}
	if (model->guest->is_range)
		line_add(line, false, 3, STYLE_NORMAL, "%s to %s",
			 header_format_clock(model->time.clock, from_ns, text[0]),
			 header_format_clock(model->time.clock, to_ns, text[1]));
	else
		line_add(line, false, 3, STYLE_NORMAL, "%s",
			 header_format_clock(model->time.clock, to_ns, text[1]));
}

/* The number of tasks, how often all are looked at, and how many were left out. */
static void header_add_waits(const struct snapshot *snapshot, struct line *line)
{
	const struct snapshot_waits *waits = snapshot->waits;
	uint64_t left_out = waits->counts.left_out;
	char count[32];

	line_add(line, false, 2, STYLE_TITLE, "waits of %s tasks",
		 format_count(waits->counts.tasks, count));
	if (waits->counts.interval_ns)
		line_add(line, false, 6, STYLE_NORMAL, "%.3g Hz",
			 1e9 / (double)waits->counts.interval_ns);
	if (left_out)
		line_add(line, false, 5, STYLE_NOTICE, "left out %s",
			 format_count(left_out, count));
}

/*
 * Adds the number of samples, and how many of equal weight would know as much of the percents that
 * are shown, if that differs by more than a tenth.
 */
static void header_add_samples(const struct ui_model *model, struct line *line)
{
	const struct snapshot *snapshot = model->all;
	double samples = (double)snapshot->resolver.samples;
	double worth =
		model->shares.totals ? snapshot->worth_total.samples : snapshot->worth_live.samples;
	char count[32], worth_count[32];

	line_add(line, false, 2, STYLE_NORMAL, "%s samples",
		 format_count(snapshot->resolver.samples, count));
	if (worth > 0 && fabs(samples - worth) > fmax(samples / 10, 0.5))
		line_add(line, false, 6, STYLE_NORMAL, "worth %s",
			 format_count((uint64_t)(worth + 0.5), worth_count));
}

static void header_add_picture(const struct ui_model *model, struct line *line)
{
	const struct guest_screen *guest = model->guest;
	const struct snapshot *snapshot = model->all;
	uint64_t ns = snapshot->started_ns && snapshot->time_ns > snapshot->started_ns
			      ? snapshot->time_ns - snapshot->started_ns
			      : 0;
	char buffer[32], count[32];

	if (!snapshot->run) {
		line_add(line, false, 0, STYLE_NORMAL, "%s samples",
			 format_count(snapshot->resolver.samples, count));
		if (ns)
			line_add(line, false, 6, STYLE_NORMAL, "%s", format_elapsed(ns, buffer));
		return;
	}
	if (guest->is_range)
		line_add(line, false, 0, STYLE_NOTICE, "range, ended %s ago",
			 format_elapsed(model->screen.now_ns - guest->frozen_ns, buffer));
	else if (guest->frozen)
		line_add(line, false, 0, STYLE_NOTICE, "frozen, %s old",
			 format_elapsed(model->screen.now_ns - guest->frozen_ns, buffer));
	else
		header_add_state(model, line);
	header_add_time(model, line);
	if (guest->is_range)
		ns = snapshot->time_ns - snapshot->started_ns;
	else if (model->shares.totals || model->half_life_s <= 0)
		line_add(line, false, line->n ? 5 : 0, STYLE_NORMAL, "since start");
	else if (!snapshot_is_last(snapshot) && !guest->frozen)
		line_add(line, false, line->n ? 5 : 0, STYLE_NORMAL, "live");
	if (!model->shares.totals && model->half_life_s > 0 && !guest->is_range)
		line_add(line, false, 7, STYLE_NORMAL, "half-life %.4g s", model->half_life_s);
	if (snapshot->waits)
		header_add_waits(snapshot, line);
	else
		header_add_samples(model, line);
	line_add(line, false, 6, STYLE_NORMAL, "%s", format_elapsed(ns, buffer));
}

static void header_add_truncated(const struct resolver_counts *counts, struct line *line)
{
	if (resolver_truncated(counts))
		line_add(line, true, 5, STYLE_NORMAL, "truncated %.1f %%",
			 percent_of(counts->weight_truncated, counts->weight));
}

/* Adds the share of rows "[xen]" while Xen is traced. */
static void header_add_xen(const struct snapshot *snapshot, struct line *line)
{
	const struct exits_table *exits = snapshot_get_run(snapshot)->exits;

	if (exits && exits->tracing && !exits->failure[0])
		line_add(line, true, 2, STYLE_NORMAL, "[xen] %.1f %%",
			 percent_of(exits->xen_ticks, snapshot->live_weight));
}

/* Adds "Base web02: stopped 0.61 %, lost 7 · 12,345 samples": what sampling costs the base. */
static void header_add_against(const struct ui_model *model, struct line *line)
{
	const struct snapshot *base = model->guest->baseline;
	const struct header_losses losses = header_losses_of(base);
	enum style style = style_of_stopped(model, snapshot_get_run(base)->sampler.stopped_share);
	char lost[120] = "", count[32];
	size_t n = 0;

	if (snapshot_get_run(base)->sampler.lost)
		n = (size_t)snprintf(lost, sizeof(lost), ", lost %s",
				     format_count(snapshot_get_run(base)->sampler.lost, count));
	for (size_t i = 0; i < sizeof(losses.all) / sizeof(losses.all[0]); i++)
		if (losses.all[i].count && n < sizeof(lost))
			n += (size_t)snprintf(lost + n, sizeof(lost) - n, ", %s %s",
					      losses.all[i].what,
					      format_count(losses.all[i].count, count));
	line_add(line, true, 1, n && style == STYLE_NORMAL ? STYLE_NOTICE : style,
		 "Base %.40s: stopped %.2f %%%s", model->guest->against->name,
		 100 * snapshot_get_run(base)->sampler.stopped_share, lost);
	line_add(line, true, 3, STYLE_NORMAL, "%s samples",
		 format_count(base->resolver.samples, count));
}

/* What the picture leaves out, what it is compared with, what is searched for. */
static void header_add_selection(const struct ui_model *model, struct line *line)
{
	const struct selection *selection = model->selection;
	const struct guest_screen *guest = model->guest;
	char buffer[32];

	if (guest->against)
		header_add_against(model, line);
	else if (guest->baseline && guest->baseline_is_file)
		line_add(line, true, 2, STYLE_NOTICE, "baseline %.40s", model->baseline_name);
	else if (guest->baseline)
		line_add(line, true, 2, STYLE_NOTICE, "baseline %s ago",
			 format_elapsed(model->screen.now_ns - guest->baseline_ns, buffer));
	if (selection->hide_kernel)
		line_add(line, true, 2, STYLE_NOTICE, "no kernel (K)");
	if (selection->hide_user)
		line_add(line, true, 2, STYLE_NOTICE, "no user (U)");
	if (model->all && model->all->interpreters)
		line_add(line, true, 2, STYLE_NOTICE, "interpreters (Y)");
	if (model->rc->fold && model->n_folded)
		line_add(line, true, 2, STYLE_NOTICE, "… %zu folded (x)", model->n_folded);
	if (guest->process != FRAME_NONE && model->all)
		line_add(line, true, 1, STYLE_NOTICE, "only %.60s",
			 frames_get(model->all->frames, guest->process)->name);
	if (guest->cgroup)
		line_add(line, true, 1, STYLE_NOTICE, "only %.60s",
			 guest->cgroup[0] ? guest->cgroup : "what is in no cgroup");
	if (guest->module)
		line_add(line, true, 1, STYLE_NOTICE, "only %.60s",
			 guest->module[0] ? guest->module : "what is of no module");
	if (selection->filter)
		line_add(line, true, 1, STYLE_NOTICE, "filter: %.100s%s",
			 filter_text(selection->filter),
			 model->shares.of_filtered ? " = 100 %" : "");
	if (model->search && !model->screen.typing_search)
		line_add(line, true, 1, STYLE_MATCH, "search: %.60s", filter_text(model->search));
}

static void header_draw_picture(const struct ui_model *model, struct canvas *canvas, int row)
{
	const struct snapshot *snapshot = model->all;
	struct line line = { .n = 0 };

	if (snapshot) {
		const struct resolver_counts *counts = &snapshot->resolver;
		double unknown = percent_of(counts->weight_unknown, counts->weight);

		header_add_picture(model, &line);
		header_add_xen(snapshot, &line);
		header_add_truncated(counts, &line);
		line_add(&line, true, 4, unknown >= 10 ? STYLE_NOTICE : STYLE_NORMAL,
			 "unknown %.1f %%", unknown);
	} else {
		const char *message = guest_message(model->guest);

		line_add(&line, false, 0, STYLE_NORMAL, "%s", message[0] ? message : "starting");
	}
	header_add_selection(model, &line);
	line_draw(&line, canvas, row);
}

int header_draw(struct ui_model *model, struct canvas *canvas)
{
	int row = 0;

	header_draw_guest(model, canvas, row++);
	if (model->all && snapshot_get_run(model->all)->n_vcpus && canvas_rows(canvas) >= 16 &&
	    canvas_columns(canvas) >= 60)
		header_draw_bars(model, canvas, row++);
	header_draw_picture(model, canvas, row++);
	if (canvas_rows(canvas) >= MINUTES_MIN_ROWS && minutes_draw(model, canvas, row))
		model->screen.history_row = row++;
	return row;
}
