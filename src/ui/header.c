/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header; see header.h. A line is made of pieces, each with a rank: those of low rank come
 * first, and each that still has room stays, in its short form if it has one. Rank 0 stays always,
 * and is cut.
 */
#include "config.h"

#include "ui/header.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ui/core.h"
#include "xtop/groups.h"

#define LINE_MAX_PIECES 16
#define LINE_MAX_RANK   9

struct piece {
	char text[160];
	enum style style;
	int rank;
	bool right; /* stands at the right edge */
	bool kept;
	size_t shorter; /* bytes of its short form; 0: it has none */
};

struct line {
	struct piece pieces[LINE_MAX_PIECES];
	size_t n;
};

__attribute__((format(printf, 5, 6))) static void
line_add(struct line *line, bool right, int rank, enum style style, const char *format, ...)
{
	struct piece *piece = &line->pieces[line->n];
	va_list arguments;

	if (line->n == LINE_MAX_PIECES)
		return;
	piece->right = right;
	piece->rank = rank;
	piece->kept = false;
	piece->shorter = 0;
	piece->style = style;
	va_start(arguments, format);
	vsnprintf(piece->text, sizeof(piece->text), format, arguments);
	va_end(arguments);
	if (piece->text[0])
		line->n++;
}

/* The piece that was added last has a short form: TEXT up to the first of BYTES, if there is one. */
static void line_shorten(struct line *line, const char *bytes)
{
	struct piece *piece = line->n ? &line->pieces[line->n - 1] : NULL;
	size_t length = piece ? strcspn(piece->text, bytes) : 0;

	if (piece && piece->text[length])
		piece->shorter = length;
}

/* Cells of the pieces of one side, " · " between them. */
static int line_width(const struct line *line, bool right)
{
	int width = 0;

	for (size_t i = 0; i < line->n; i++)
		if (line->pieces[i].right == right && line->pieces[i].kept)
			width += canvas_text_width(line->pieces[i].text) + (width ? 3 : 0);
	return width;
}

static void line_fit_piece(struct line *line, struct piece *piece, int room)
{
	piece->kept = true;
	if (!piece->rank || line_width(line, false) + line_width(line, true) + 2 <= room)
		return;
	if (piece->shorter) {
		piece->text[piece->shorter] = '\0';
		piece->shorter = 0;
		line_fit_piece(line, piece, room);
		return;
	}
	piece->kept = false;
}

static void line_fit(struct line *line, int room)
{
	for (int rank = 0; rank <= LINE_MAX_RANK; rank++)
		for (size_t i = 0; i < line->n; i++)
			if (line->pieces[i].rank == rank)
				line_fit_piece(line, &line->pieces[i], room);
}

static void line_put_side(const struct line *line, bool right, struct canvas *canvas, int row,
			  int column)
{
	bool first = true;

	for (size_t i = 0; i < line->n; i++) {
		const struct piece *piece = &line->pieces[i];

		if (piece->right != right || !piece->kept)
			continue;
		if (!first)
			column += canvas_put(canvas, row, column, 3, STYLE_DIM, " · ");
		first = false;
		column += canvas_put(canvas, row, column, canvas_columns(canvas) - column,
				     piece->style, piece->text);
	}
}

static void line_draw(struct line *line, struct canvas *canvas, int row)
{
	int room = canvas_columns(canvas) - 2;

	line_fit(line, room);
	line_put_side(line, false, canvas, row, 1);
	line_put_side(line, true, canvas, row, room + 1 - line_width(line, true));
}

/* --- figures ---------------------------------------------------------------------------------- */

const char *format_count(uint64_t count, char buffer[32])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count), out = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			buffer[out++] = ',';
		buffer[out++] = digits[i];
	}
	buffer[out] = '\0';
	return buffer;
}

const char *format_time(double ns, char buffer[32])
{
	static const char *const units[] = { "ns", "µs", "ms", "s" };
	size_t unit = 0;

	while (ns >= 1000 && unit < 3) {
		ns /= 1000;
		unit++;
	}
	snprintf(buffer, 32, ns < 100 && unit ? "%.1f %s" : "%.0f %s", ns, units[unit]);
	return buffer;
}

const char *format_elapsed(uint64_t ns, char buffer[32])
{
	unsigned long long s = ns / 1000000000;

	if (s < 3600)
		snprintf(buffer, 32, "%llu:%02llu", s / 60, s % 60);
	else
		snprintf(buffer, 32, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	return buffer;
}

const char *format_bytes(uint64_t bytes, char buffer[32])
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	snprintf(buffer, 32, value < 10 && unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buffer;
}

/* Counters go back when the profile is reset: then all of the new value is new. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

void header_note(struct header *header, const struct snapshot *snapshot)
{
	const struct sampler_counts *sampler = &snapshot->sampler;
	uint64_t ns = since(sampler->elapsed_ns, header->elapsed_ns);
	uint64_t taken = sampler->samples;

	if (snapshot->sequence == header->sequence)
		return;
	if (ns) {
		header->rate_hz = (double)since(taken, header->taken) * 1e9 / (double)ns;
		header->lowered = sampler->skipped_budget > header->skipped;
	}
	header->taken = taken;
	header->skipped = sampler->skipped_budget;
	header->elapsed_ns = sampler->elapsed_ns;
	header->sequence = snapshot->sequence;
	for (unsigned i = 0; i < snapshot->n_vcpus && i < GUEST_MAX_VCPUS; i++) {
		const struct snapshot_vcpu *now = &snapshot->vcpus[i];
		struct snapshot_vcpu *before = &header->vcpus[i], *recent = &header->recent[i];
		bool again = now->states[VCPU_BLOCKED] < before->states[VCPU_BLOCKED] ||
			     now->states[VCPU_RUNNING] < before->states[VCPU_RUNNING];

		for (int state = 0; state < N_VCPU_STATES; state++)
			recent->states[state] =
				now->states[state] - (again ? 0 : before->states[state]);
		recent->user = now->user - (again ? 0 : before->user);
		*before = *now;
	}
}

/* --- line 1: the guest, and what it pays ------------------------------------------------------ */

static void header_add_rate(const struct header *header, const struct sampler_counts *sampler,
			    struct line *line)
{
	double reached = header->rate_hz, asked = sampler->rate_asked_hz;

	if (header->lowered)
		line_add(line, true, 3, STYLE_NOTICE, "%.3g of %.4g Hz (budget)", reached, asked);
	else if (asked > 0 && (reached < 0.95 * asked || reached > 1.05 * asked) && reached > 0)
		line_add(line, true, 3, STYLE_NORMAL, "%.3g of %.4g Hz", reached, asked);
	else
		line_add(line, true, 3, STYLE_NORMAL, "%.4g Hz", asked);
}

/* What is usually nothing is named only when it is something. */
static void header_add_losses(const struct snapshot *snapshot, struct line *line)
{
	const struct {
		const char *what;
		uint64_t count;
	} losses[] = {
		{ "refused", snapshot->sampler.refused },
		{ "faults", snapshot->sampler.faults },
		{ "sampler restarted", snapshot->sampler.restarts },
		{ "bad records", snapshot->resolver.bad_records },
		{ "names lost", snapshot->resolver.frames_refused },
	};
	char buffer[32];

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (losses[i].count)
			line_add(line, true, 2, STYLE_NOTICE, "%s %s", losses[i].what,
				 format_count(losses[i].count, buffer));
}

/* A traffic light: within half of the budget, within the budget, beyond it. */
static enum style style_of_stopped(const struct ui *ui, double share)
{
	double budget = ui->settings.budget;

	if (!(budget > 0))
		return STYLE_NORMAL;
	return share <= budget / 2 ? STYLE_GOOD : share <= budget ? STYLE_NOTICE : STYLE_ALERT;
}

static void header_draw_guest(const struct ui *ui, struct canvas *canvas, int row)
{
	const struct snapshot *snapshot = ui->snapshot;
	const struct guest_view *guest = ui->guest;
	const char *system = snapshot && snapshot->system[0] ? snapshot->system : guest->system;
	struct line line = { .n = 0 };
	char buffer[32];

	line_add(&line, false, 0, STYLE_TITLE, "%s", guest->name);
	if (ui->n_guests > 1)
		line_add(&line, false, 5, STYLE_DIM, "Tab: %zu more", ui->n_guests - 1);
	line_add(&line, false, 4, STYLE_NORMAL, "%s", guest->kind);
	if (guest->pipeline->guest.n_vcpus) /* the meters below show them, too */
		line_add(&line, false, 7, STYLE_NORMAL, "%u vCPU", guest->pipeline->guest.n_vcpus);
	line_add(&line, false, 6, STYLE_NORMAL, "%s", system);
	if (!strncmp(system, "Linux ", 6)) /* without "-56-amd64" */
		line_shorten(&line, "-+");
	if (snapshot) {
		const struct sampler_counts *sampler = &snapshot->sampler;

		header_add_rate(ui->model.header, sampler, &line);
		line_add(&line, true, 1, style_of_stopped(ui, sampler->stopped_share),
			 "stopped %.2f %%", 100 * sampler->stopped_share);
		if (snapshot->stopped.n)
			line_add(&line, true, 8, STYLE_NORMAL, "p50 %s",
				 format_time((double)snapshot->stopped.p50_ns, buffer));
		line_add(&line, true, 2, sampler->lost ? STYLE_NOTICE : STYLE_NORMAL, "lost %s",
			 format_count(sampler->lost, buffer));
		header_add_losses(snapshot, &line);
	}
	line_draw(&line, canvas, row);
}

/* --- line 2: a meter for each vCPU that there is room for ------------------------------------- */

#define METER_MIN_CELLS 10
#define METER_MAX_CELLS 24

struct header_shares header_shares_of(const struct snapshot_vcpu *vcpu)
{
	double ticks = 0, running = (double)vcpu->states[VCPU_RUNNING], user = (double)vcpu->user;

	for (int state = 0; state < N_VCPU_STATES; state++)
		ticks += (double)vcpu->states[state];
	if (!(ticks > 0))
		return (struct header_shares){ .idle = 0 };
	return (struct header_shares){
		.user = user / ticks,
		.kernel = (running > user ? running - user : 0) / ticks,
		.steal = (double)vcpu->states[VCPU_RUNNABLE] / ticks,
		.idle = (double)(vcpu->states[VCPU_BLOCKED] + vcpu->states[VCPU_OFFLINE]) / ticks,
	};
}

/* Each keeps its share, however the cells are rounded. */
void header_draw_bar(struct canvas *canvas, int row, int column, int cells,
		     const struct header_shares *shares)
{
	static const char *const marks[] = { "█", "▓", "░" };
	static const enum style styles[] = { STYLE_BAR_USER, STYLE_BAR_KERNEL, STYLE_BAR_STEAL };
	const double parts[] = { shares->user, shares->kernel, shares->steal };
	double sum = 0;
	int at = 0;

	canvas_put(canvas, row, column, 1, STYLE_DIM, "▕");
	for (int part = 0; part < 3; part++) {
		sum += parts[part];
		for (; at < (int)(sum * cells + 0.5) && at < cells; at++)
			canvas_put(canvas, row, column + 1 + at, 1, styles[part], marks[part]);
	}
	canvas_put(canvas, row, column + 1 + cells, 1, STYLE_DIM, "▏");
}

/* "vCPU0 ▕████  ▏ 66 user 12 kernel 49 steal 5", as much of it as WIDTH has room for. */
static void meter_draw(const struct snapshot_vcpu *vcpu, const char *name, struct canvas *canvas,
		       int row, int column, int width)
{
	struct header_shares shares = header_shares_of(vcpu);
	int used = canvas_put(canvas, row, column, width, STYLE_DIM, name) + 1, cells;
	char text[64];

	snprintf(text, sizeof(text), "%3.0f  user %2.0f kernel %2.0f steal %2.0f",
		 100 * (shares.user + shares.kernel + shares.steal), 100 * shares.user,
		 100 * shares.kernel, 100 * shares.steal);
	cells = width - used - 2 - (int)strlen(text) - 1;
	if (cells < METER_MIN_CELLS) {
		text[3] = '\0';
		cells = width - used - 2 - 4;
	}
	cells = cells > METER_MAX_CELLS ? METER_MAX_CELLS : cells;
	header_draw_bar(canvas, row, column + used, cells, &shares);
	canvas_put(canvas, row, column + used + cells + 3, width, STYLE_NORMAL, text);
}

static void header_draw_meters(const struct ui *ui, struct canvas *canvas, int row)
{
	unsigned n =
		ui->snapshot->n_vcpus < GUEST_MAX_VCPUS ? ui->snapshot->n_vcpus : GUEST_MAX_VCPUS;
	int room = canvas_columns(canvas) - 2, width = room / (int)n;
	struct snapshot_vcpu all = { .user = 0 };
	char name[32];

	if (width >= 6 + 1 + METER_MIN_CELLS + 7) {
		for (unsigned i = 0; i < n; i++) {
			snprintf(name, sizeof(name), "vCPU%u", i);
			meter_draw(&ui->model.header->recent[i], name, canvas, row,
				   1 + (int)i * width, width - 2);
		}
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		for (int state = 0; state < N_VCPU_STATES; state++)
			all.states[state] += ui->model.header->recent[i].states[state];
		all.user += ui->model.header->recent[i].user;
	}
	snprintf(name, sizeof(name), "%u vCPUs", n);
	meter_draw(&all, name, canvas, row, 1, room);
}

/* --- line 3: what picture this is ------------------------------------------------------------- */

/* What the user must know of how sampling ended or stands still. */
static void header_add_state(const struct ui *ui, struct line *line)
{
	const struct snapshot *snapshot = ui->snapshot;
	const struct ui_pipeline *pipeline = ui->guest->pipeline;
	const char *why = pipeline->message ? pipeline->message(pipeline->context) : "";

	switch (snapshot->sampler.state) {
	case SAMPLER_STARTING:
	case SAMPLER_RUNNING:
		line_add(line, false, 0, STYLE_NOTICE, "%.120s", why);
		break;
	case SAMPLER_HUNG:
		line_add(line, false, 0, STYLE_NOTICE, "the sampler hung: started anew soon");
		return;
	case SAMPLER_GUEST_PAUSED:
		line_add(line, false, 0, STYLE_NOTICE, "%.120s",
			 why[0] ? why : "paused by an administrator");
		return;
	case SAMPLER_GUEST_AWAY:
		line_add(line, false, 0, STYLE_ALERT, "%.120s: last view",
			 why[0] ? why : "the guest is gone");
		return;
	case SAMPLER_GUEST_GONE:
		line_add(line, false, 0, STYLE_ALERT, "the guest is gone: last view");
		return;
	case SAMPLER_ENDED:
		line_add(line, false, 0, why[0] ? STYLE_ALERT : STYLE_NOTICE,
			 "end of samples%s%.120s", why[0] ? ": " : "", why);
		return;
	case SAMPLER_FAILED:
		line_add(line, false, 0, STYLE_ALERT, "sampling failed%s%.120s", why[0] ? ": " : "",
			 why);
		return;
	}
	if (snapshot->at_end)
		line_add(line, false, 0, STYLE_NOTICE, "end of samples");
}

/* No newer one will come. */
static bool snapshot_is_last(const struct snapshot *snapshot)
{
	return snapshot->at_end || snapshot->sampler.state >= SAMPLER_GUEST_AWAY;
}

static void header_add_picture(const struct ui *ui, struct line *line)
{
	const struct snapshot *snapshot = ui->snapshot;
	uint64_t ns = snapshot->started_ns && snapshot->time_ns > snapshot->started_ns
			      ? snapshot->time_ns - snapshot->started_ns
			      : 0;
	char buffer[32], count[32];

	if (guest_view_is_old(ui->guest))
		line_add(line, false, 0, STYLE_NOTICE, "frozen, %s old",
			 format_elapsed(ui->now_ns - ui->guest->still_ns, buffer));
	else
		header_add_state(ui, line);
	if (ui->model.totals || ui->settings.half_life_s <= 0)
		line_add(line, false, line->n ? 5 : 0, STYLE_NORMAL, "since start");
	else if (!snapshot_is_last(snapshot) && !guest_view_is_old(ui->guest))
		line_add(line, false, line->n ? 5 : 0, STYLE_NORMAL, "live");
	if (!ui->model.totals && ui->settings.half_life_s > 0)
		line_add(line, false, 7, STYLE_NORMAL, "half-life %.4g s",
			 ui->settings.half_life_s);
	line_add(line, false, 2, STYLE_NORMAL, "%s samples",
		 format_count(snapshot->resolver.samples, count));
	line_add(line, false, 6, STYLE_NORMAL, "%s", format_elapsed(ns, buffer));
}

static void header_add_truncated(const struct resolver_counts *counts, struct line *line)
{
	uint64_t truncated = resolver_truncated(counts);

	if (truncated)
		line_add(line, true, 5, STYLE_NORMAL, "truncated %.1f %%",
			 percent_of((double)truncated, (double)counts->samples));
}

/* What is left out of the picture, or compared with it. */
static void header_add_selection(const struct ui *ui, struct line *line)
{
	const struct guest_view *guest = ui->guest;
	const struct ui_model *model = &ui->model;
	char buffer[32];

	if (guest->baseline)
		line_add(line, true, 2, STYLE_NOTICE, "baseline %s ago",
			 format_elapsed(ui->now_ns - guest->baseline_ns, buffer));
	if (ui->selection.hide_kernel)
		line_add(line, true, 2, STYLE_NOTICE, "no kernel (K)");
	if (ui->selection.hide_user)
		line_add(line, true, 2, STYLE_NOTICE, "no user (U)");
	if (guest->process != FRAME_NONE && model->all)
		line_add(line, true, 1, STYLE_NOTICE, "only %.60s",
			 frames_get(model->all->frames, guest->process)->name);
	if (guest->module)
		line_add(line, true, 1, STYLE_NOTICE, "only %.60s",
			 guest->module[0] ? guest->module : "what is of no module");
	if (ui->filter)
		line_add(line, true, 1, STYLE_NOTICE, "filter: %.100s%s", filter_text(ui->filter),
			 ui->of_filtered ? " = 100 %" : "");
	if (ui->search && ui->asking != UI_PROMPT_SEARCH)
		line_add(line, true, 1, STYLE_MATCH, "search: %.60s", filter_text(ui->search));
}

static void header_draw_picture(const struct ui *ui, struct canvas *canvas, int row)
{
	const struct snapshot *snapshot = ui->snapshot;
	struct line line = { .n = 0 };

	if (snapshot) {
		const struct resolver_counts *counts = &snapshot->resolver;
		double unknown =
			percent_of((double)counts->samples_unknown, (double)counts->samples);

		header_add_picture(ui, &line);
		header_add_truncated(counts, &line);
		line_add(&line, true, 4, unknown >= 10 ? STYLE_NOTICE : STYLE_NORMAL,
			 "unknown %.1f %%", unknown);
	} else {
		line_add(&line, false, 0, STYLE_NORMAL, "starting");
	}
	header_add_selection(ui, &line);
	line_draw(&line, canvas, row);
}

int header_draw(const struct ui *ui, struct canvas *canvas)
{
	int row = 0;

	header_draw_guest(ui, canvas, row++);
	if (ui->snapshot && ui->snapshot->n_vcpus && canvas_rows(canvas) >= 16 &&
	    canvas_columns(canvas) >= 60)
		header_draw_meters(ui, canvas, row++);
	header_draw_picture(ui, canvas, row++);
	return row;
}

/* --- the line above the bottom one: what would help ------------------------------------------- */

#define HINT_MIN_PERCENT 10 /* of samples without a name */

/* Of the module that lacks most; what the resolver has to say is more if that is none. */
static void hint_of_unknown(const struct ui_model *model, char *hint, size_t capacity)
{
	const struct group_row *worst = NULL;
	struct groups groups = { 0 };

	error_destroy(groups_modules(model->all, true, &groups));
	for (size_t i = 0; i < groups.n; i++)
		if (!worst || groups.rows[i].unknown.self_total > worst->unknown.self_total)
			worst = &groups.rows[i];
	if (worst && worst->unknown.self_total) {
		double percent = percent_of((double)worst->unknown.self_total,
					    (double)groups.whole.children_total);

		if (worst->name[0])
			snprintf(hint, capacity,
				 "%.1f %% of samples in %.80s have no names: give its file with -k",
				 percent, worst->name);
		else if (!hint[0])
			snprintf(
				hint, capacity,
				"%.1f %% of samples have no names: give the guest's symbols with -k",
				percent);
	}
	groups_free(&groups);
}

int header_draw_hint(struct ui *ui, struct canvas *canvas, int row)
{
	const struct snapshot *snapshot = ui->snapshot;

	if (!snapshot)
		return 0;
	if (ui->hint_sequence != snapshot->sequence) {
		const struct resolver_counts *counts = &snapshot->resolver;

		ui->hint_sequence = snapshot->sequence;
		snprintf(ui->hint, sizeof(ui->hint), "%s", snapshot->notes[0]);
		if (percent_of((double)(counts->samples_unknown + counts->samples_offset),
			       (double)counts->samples) >= HINT_MIN_PERCENT)
			hint_of_unknown(&ui->model, ui->hint, sizeof(ui->hint));
		if (snapshot->recording_errno)
			snprintf(ui->hint, sizeof(ui->hint), "the recording is cut short: %s",
				 strerror(snapshot->recording_errno));
	}
	if (!ui->hint[0])
		return 0;
	canvas_put_name(canvas, row, 1, canvas_columns(canvas) - 2, STYLE_NOTICE, ui->hint);
	return 1;
}
