/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sampling costs the guest and dom0, and what xtop missed: every counter, by cause. The view
 * is lines of text, so that a small screen can scroll.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ui/figures.h"
#include "ui/view.h"
#include "xtop/query/counters.h"

#define OVERHEAD_LABEL_CELLS 12
#define OVERHEAD_LAG_NS      200000000 /* lag from which on samples of Linux guests are dropped */

struct view_overhead {
	struct view view;
	struct list list; /* the cursor is the first line shown */
};

/* Receives all lines, and draws those from line FIRST on that fit. */
struct overhead_page {
	const struct ui_model *model;
	struct canvas *canvas;
	struct area area;
	size_t first, n;
};

static void overhead_put(struct overhead_page *page, const char *label, enum style style,
			 const char *text, size_t length)
{
	int row = page->area.row + (int)(page->n - page->first);
	char part[256];

	if (page->n++ < page->first || row >= page->area.row + page->area.rows)
		return;
	snprintf(part, sizeof(part), "%.*s", (int)length, text);
	if (label)
		canvas_put(page->canvas, row, 1, OVERHEAD_LABEL_CELLS, STYLE_TITLE, label);
	canvas_put(page->canvas, row, 2 + OVERHEAD_LABEL_CELLS,
		   page->area.columns - 2 - OVERHEAD_LABEL_CELLS, style, part);
}

/* How many bytes of TEXT fit into WIDTH cells. Parts, separated by three blanks, stay whole. */
static size_t overhead_fit(const char *text, int width)
{
	size_t fits = 0;

	for (const char *end = text; *end; fits = (size_t)(end - text)) {
		const char *next = strstr(end + strspn(end, " "), "   ");
		char part[256];

		next = next ? next : end + strlen(end);
		snprintf(part, sizeof(part), "%.*s", (int)(next - text), text);
		if (fits && canvas_text_width(part) > width)
			break;
		end = next;
	}
	return fits;
}

/* Puts text beside LABEL, on as many lines as needed. LABEL NULL: continues the text above. */
__attribute__((format(printf, 4, 5))) static void overhead_line(struct overhead_page *page,
								const char *label, enum style style,
								const char *format, ...)
{
	char buffer[256], *text = buffer;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(buffer, sizeof(buffer), format, arguments);
	va_end(arguments);
	while (*text) {
		size_t fits = overhead_fit(text, page->area.columns - 3 - OVERHEAD_LABEL_CELLS);

		overhead_put(page, label, style, text, fits);
		label = NULL;
		text += fits;
		text += strspn(text, " ");
	}
}

/* --- stopped time ----------------------------------------------------------------------------- */

static void overhead_stopped(struct overhead_page *page)
{
	const struct stopped_summary *stopped = &snapshot_get_run(page->model->all)->stopped;
	char text[7][32];

	if (!stopped->n) {
		overhead_line(page, "per stop", STYLE_NORMAL, "the guest was not stopped yet");
		return;
	}
	overhead_line(page, "per stop", STYLE_NORMAL,
		      "n %s   min %s   mean %s   p50 %s   p90 %s   p99 %s   max %s",
		      format_count(stopped->n, text[0]),
		      format_time((double)stopped->min_ns, text[1]),
		      format_time(stopped->mean_ns, text[2]),
		      format_time((double)stopped->p50_ns, text[3]),
		      format_time((double)stopped->p90_ns, text[4]),
		      format_time((double)stopped->p99_ns, text[5]),
		      format_time((double)stopped->max_ns, text[6]));
}

/* Lists lengths of stops by powers of two. */
static void overhead_histogram(struct overhead_page *page)
{
	const uint64_t *log2 = snapshot_get_run(page->model->all)->stopped.log2;
	struct histogram_span span = histogram_find_span(log2);
	char line[HISTOGRAM_LINE_BYTES];

	for (unsigned i = span.first; i < span.end; i++)
		overhead_line(page, i == span.first ? "histogram" : NULL, STYLE_NORMAL, "%s",
			      format_histogram_line(log2, i, span.most, line));
}

static void overhead_shares(struct overhead_page *page)
{
	const struct sampler_counts *sampler = &snapshot_get_run(page->model->all)->sampler;
	double budget = page->model->budget, now = sampler->stopped_share;
	char text[64] = "", most[64] = "";

	if (sampler->stopped_share_max > 0) /* a recording does not have it */
		snprintf(most, sizeof(most), "   most %.3f %%", 100 * sampler->stopped_share_max);
	if (budget > 0)
		snprintf(text, sizeof(text), "   budget %.3g %%", 100 * budget);
	overhead_line(page, "stopped", style_of_stopped(page->model, now),
		      "now %.3f %% of its time%s   since start %.3f %%%s", 100 * now, most,
		      percent_of((double)sampler->stopped_ns, (double)sampler->elapsed_ns), text);
}

/* --- ticks and samples ------------------------------------------------------------------------ */

static void overhead_ticks(struct overhead_page *page)
{
	const struct sampler_counts *sampler = &snapshot_get_run(page->model->all)->sampler;
	char text[6][32];
	bool bad = sampler->lost || sampler->refused || sampler->faults;

	overhead_line(page, "rate", STYLE_NORMAL, "asked %.4g Hz   reached %.1f Hz   ticks %s",
		      sampler->rate_asked_hz, page->model->recent->rate_hz,
		      format_count(sampler->ticks, text[0]));
	overhead_line(page, "ticks", sampler->skipped_budget ? STYLE_NOTICE : STYLE_NORMAL,
		      "late %s   missed %s   skipped for the budget %s   all idle %s",
		      format_count(sampler->late, text[0]), format_count(sampler->missed, text[1]),
		      format_count(sampler->skipped_budget, text[2]),
		      format_count(sampler->idle_ticks, text[3]));
	overhead_line(page, NULL, bad ? STYLE_NOTICE : STYLE_NORMAL,
		      "lost (resolver behind) %s   refused by Xen %s   page faults %s",
		      format_count(sampler->lost, text[0]), format_count(sampler->refused, text[1]),
		      format_count(sampler->faults, text[2]));
	if (sampler->given_up)
		overhead_line(page, NULL, STYLE_NOTICE,
			      "lost or missed, in no share %s: samples make up for 5 s of a gap",
			      format_count(sampler->given_up, text[0]));
	if (sampler->restarts)
		overhead_line(page, NULL, STYLE_NOTICE,
			      "sampler restarted, as it hung in a stop: %s",
			      format_count(sampler->restarts, text[0]));
	overhead_line(
		page, NULL, STYLE_NORMAL,
		"retaken at once %s   stops %s   guest pages mapped %s, so far %s",
		format_count(sampler->retakes, text[0]), format_count(sampler->stops, text[1]),
		format_count(sampler->mapped_pages, text[2]), format_count(sampler->maps, text[3]));
}

/* Adds "name 12" to TEXT, unless COUNT is 0. */
static void overhead_append(char *text, size_t capacity, const char *name, uint64_t count)
{
	size_t n = strlen(text);
	char number[32];

	if (count)
		snprintf(text + n, capacity - n, "%s%s %s", n ? "   " : "", name,
			 format_count(count, number));
}

/* The percentage of stacks with PART in which PART is whole. */
static double overhead_whole(const struct resolver_counts *counts, enum unwind_part part)
{
	return percent_of((double)counts->parts_complete[part], (double)counts->parts[part]);
}

static void overhead_samples(struct overhead_page *page)
{
	const struct resolver_counts *counts = &page->model->all->resolver;
	char stops[256] = "", cuts[256] = "", number[32];

	overhead_line(page, "samples", STYLE_NORMAL,
		      "%s   whole %.1f %%   truncated %.1f %%   unknown %.1f %%",
		      format_count(counts->samples, number),
		      percent_of(counts->weight - counts->weight_truncated, counts->weight),
		      percent_of(counts->weight_truncated, counts->weight),
		      percent_of(counts->weight_unknown, counts->weight));
	if (counts->parts[UNWIND_KERNEL] && counts->parts[UNWIND_USER])
		overhead_line(page, NULL, STYLE_NORMAL,
			      "kernel part whole %.1f %%   user part whole %.1f %%",
			      overhead_whole(counts, UNWIND_KERNEL),
			      overhead_whole(counts, UNWIND_USER));
	for (int stop = UNWIND_COMPLETE + 1; stop < N_UNWIND_STOPS; stop++)
		overhead_append(stops, sizeof(stops), counter_stop_words[stop],
				counts->stops[stop]);
	for (int cut = 0; cut < N_SAMPLE_CUTS; cut++)
		overhead_append(cuts, sizeof(cuts), counter_cut_words[cut], counts->cuts[cut]);
	if (stops[0])
		overhead_line(page, "truncated", STYLE_NORMAL, "%s", stops);
	if (cuts[0])
		overhead_line(page, stops[0] ? NULL : "truncated", STYLE_NORMAL, "cut: %s", cuts);
}

/* --- names, memory, time ---------------------------------------------------------------------- */

static void overhead_names(struct overhead_page *page)
{
	const struct resolver_counts *counts = &page->model->all->resolver;
	const struct snapshot *all = page->model->all;
	char text[3][32], causes[256] = "", found[256] = "";

	for (int cause = 0; cause < N_UNKNOWN_CAUSES; cause++)
		overhead_append(causes, sizeof(causes), counter_unknown_cause_words[cause],
				counts->unknown_causes[cause]);
	if (causes[0])
		overhead_line(page, "unknown", STYLE_NORMAL, "%s", causes);
	overhead_line(page, "names", STYLE_NORMAL, "frames %s   without a name %s (%.2f %%)",
		      format_count(counts->frames, text[0]),
		      format_count(counts->frames_unknown, text[1]),
		      percent_of((double)counts->frames_unknown, (double)counts->frames));
	if (counts->samples_function || counts->samples_offset)
		overhead_line(page, NULL, STYLE_NORMAL,
			      "by their function's place in a file %s samples   by their own %s",
			      format_count(counts->samples_function, text[0]),
			      format_count(counts->samples_offset, text[1]));
	for (int by = UNWIND_BY_ORC; by < N_UNWIND_BYS; by++)
		overhead_append(found, sizeof(found), counter_unwind_by_words[by],
				counts->frames_by[by]);
	if (found[0])
		overhead_line(page, NULL, STYLE_NORMAL, "found by %s", found);
	if (counts->early)
		overhead_line(page, NULL, STYLE_NORMAL, "early %s samples",
			      format_count(counts->early, text[0]));
	if (counts->frames_refused || counts->evicted_nodes || counts->bad_records)
		overhead_line(page, NULL, STYLE_NOTICE,
			      "names lost %s   evicted nodes %s   bad records %s",
			      format_count(counts->frames_refused, text[0]),
			      format_count(counts->evicted_nodes, text[1]),
			      format_count(counts->bad_records, text[2]));
	for (size_t i = 0;
	     i < sizeof(snapshot_get_run(all)->notes) / sizeof(snapshot_get_run(all)->notes[0]);
	     i++)
		if (snapshot_get_run(all)->notes[i][0])
			overhead_line(page, NULL, STYLE_NOTICE, "%s",
				      snapshot_get_run(all)->notes[i]);
}

static double overhead_cpu(const struct overhead_page *page, uint64_t cpu_ns)
{
	return percent_of((double)cpu_ns,
			  (double)snapshot_get_run(page->model->all)->sampler.elapsed_ns);
}

static void overhead_own(struct overhead_page *page)
{
	const struct snapshot *all = page->model->all;
	const struct history *history = page->model->history;
	char text[4][32], behind[64] = "";

	overhead_line(page, "dom0 CPU", STYLE_NORMAL,
		      "sampler %.2f %%   resolver %.2f %%   screen %.2f %%",
		      overhead_cpu(page, snapshot_get_run(all)->sampler.cpu_ns),
		      overhead_cpu(page, all->resolver.cpu_ns),
		      overhead_cpu(page, page->model->ui_cpu_ns));
	if (snapshot_get_run(all)->lag_ns)
		snprintf(behind, sizeof(behind), "at most %s behind   ",
			 format_time((double)snapshot_get_run(all)->lag_ns, text[0]));
	overhead_line(page, "resolver",
		      snapshot_get_run(all)->ring_permille >= 500 ||
				      snapshot_get_run(all)->lag_ns >= OVERHEAD_LAG_NS
			      ? STYLE_NOTICE
			      : STYLE_NORMAL,
		      "%sring %.1f %% full", behind, snapshot_get_run(all)->ring_permille / 10.0);
	overhead_line(
		page, "memory", STYLE_NORMAL, "%s%sprofile and names %s   nodes %s   history %s",
		page->model->memory_bytes ? format_bytes(page->model->memory_bytes, text[0]) : "",
		page->model->memory_bytes ? " in all   " : "",
		format_bytes(all->profile_bytes, text[1]), format_count(all->n_nodes, text[3]),
		format_elapsed(history_count(history) ? history_age_ns(history, 0) : 0, text[2]));
}

/* What Xen's trace costs, if there is one. A record makes an exit longer, in other guests, too. */
static void overhead_trace(struct overhead_page *page)
{
	const struct exits_table *exits = snapshot_get_run(page->model->all)->exits;
	char records[32], rate[32], lost[32];

	if (!exits || !exits->records)
		return;
	overhead_line(page, "Xen's trace", exits->lost ? STYLE_NOTICE : STYLE_NORMAL,
		      "reader %.2f %%   records %s, %s a second   lost %s%s",
		      percent_of((double)exits->cpu_ns, exits->span_ns),
		      format_count(exits->records, records),
		      format_count((uint64_t)((double)exits->records * 1e9 /
					      (exits->span_ns > 1 ? exits->span_ns : 1)),
				   rate),
		      format_count(exits->lost, lost),
		      exits->lost ? ": rates are of what was seen" : "");
	/* tests/lab/exits-cost-long.test measures it. Nothing in the trace tells it. */
	overhead_line(page, NULL, STYLE_NORMAL,
		      "it slows each exit of each guest   in the lab 10,000 exits a second cost "
		      "6 %% of a guest's work   100,000 cost 55 %%");
}

/* Says what could not be kept, and why. Draws nothing if all was kept. */
static void overhead_left_out(struct overhead_page *page)
{
	const struct os_counts *os = &snapshot_get_run(page->model->all)->os;
	char text[256] = "", number[32];

	overhead_append(text, sizeof(text), "areas", os->areas_left_out);
	overhead_append(text, sizeof(text), "files", os->files_no_room);
	overhead_append(text, sizeof(text), "parts of files", os->files_cut + os->files_too_large);
	overhead_append(text, sizeof(text), "compiled code", os->jit_no_room);
	overhead_append(text, sizeof(text), "parts of modules", os->modules_cut);
	overhead_append(text, sizeof(text), "processes", os->processes_evicted);
	overhead_append(text, sizeof(text), "tasks", os->tasks_evicted);
	if (text[0])
		overhead_line(page, "no room", STYLE_NOTICE, "%s", text);
	text[0] = '\0';
	overhead_append(text, sizeof(text), "tasks that had ended", os->tasks_refused);
	overhead_append(text, sizeof(text), "cgroups not read", os->cgroups_unreadable);
	if (text[0])
		overhead_line(page, "gone", STYLE_NORMAL, "%s", text);
	if (snapshot_get_run(page->model->all)->sampler.waited)
		overhead_line(
			page, "waited", STYLE_NORMAL,
			"%s ticks, until it was known what runs inside",
			format_count(snapshot_get_run(page->model->all)->sampler.waited, number));
}

/* --- the view --------------------------------------------------------------------------------- */

static void overhead_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			  struct area area)
{
	struct list *list = &((struct view_overhead *)view)->list;
	struct overhead_page page = { .model = model,
				      .canvas = canvas,
				      .area = { area.row + 1, area.rows - 1, area.columns },
				      .first = list->selected };
	size_t rows = area.rows > 1 ? (size_t)area.rows - 1 : 1;

	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_printf(canvas, area.row, 1, STYLE_HEADER,
		      area.columns < 60 ? "What xtop takes"
					: "What xtop takes from %s, and what it missed",
		      model->domain);
	if (!model->all)
		return;
	if (!model->all->run) {
		view_draw_sums_only(model, canvas, area);
		return;
	}
	if (model->is_range)
		overhead_line(&page, "range", STYLE_NOTICE,
			      "counts are of the range; "
			      "the lengths of stops are those since start");
	overhead_shares(&page);
	overhead_stopped(&page);
	overhead_histogram(&page);
	overhead_ticks(&page);
	overhead_samples(&page);
	overhead_names(&page);
	overhead_own(&page);
	overhead_trace(&page);
	overhead_left_out(&page);
	list_scroll(list, page.n, rows);
	if (page.n - list->selected > rows)
		canvas_put_right(canvas, area.row, area.columns / 2,
				 area.columns - area.columns / 2 - 1, STYLE_HEADER, "more below");
}

static struct request overhead_handle(struct view *view, const struct ui_model *model,
				      struct request request)
{
	(void)model;
	return list_request(&((struct view_overhead *)view)->list, request.code)
		       ? request_of(REQUEST_NONE)
		       : request;
}

const struct view_ops overhead_ops = {
	.name = "the overhead",
	.size = sizeof(struct view_overhead),
	.traits = VIEW_GUEST | VIEW_ENDS_RANGE | VIEW_BACK_BY_LEFT,
	.opener = { KEYS_VIEWS, { 'o' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .names = "o T O", .help = "overhead; takers; exits", .opens = &overhead_ops },
	.draw = overhead_draw,
	.handle = overhead_handle,
};
