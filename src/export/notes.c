/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines about a profile, as in doc/FORMATS. Main's thread. */
#include "config.h"

#include "export/notes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "xtop/base/text.h"

static void __attribute__((format(printf, 2, 3))) notes_add(struct notes *notes,
							    const char *format, ...)
{
	char line[NOTES_LINE_BYTES];
	va_list arguments;

	if (notes->n == NOTES_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	text_clean(notes->lines[notes->n], sizeof(notes->lines[0]), line, strlen(line));
	notes->n++;
}

static double notes_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void notes_add_guest(struct notes *notes, const struct snapshot *snapshot,
			    const struct export_settings *settings)
{
	if (settings->domain)
		notes_add(notes, "guest: %s%s%s", settings->domain, settings->type ? ", " : "",
			  settings->type ? settings->type : "");
	if (snapshot_get_run(snapshot)->system[0])
		notes_add(notes, "system: %s", snapshot_get_run(snapshot)->system);
}

static void notes_add_sampling(struct notes *notes, const struct snapshot *snapshot)
{
	const struct sampler_counts *sampler = &snapshot_get_run(snapshot)->sampler;
	uint64_t elapsed_ns = snapshot->started_ns ? snapshot->time_ns - snapshot->started_ns : 0;

	notes_add(notes,
		  "sampling: %g of %g Hz, %.1f s, guest stopped %.2f %%", sampler->rate_now_hz,
		  sampler->rate_asked_hz, (double)elapsed_ns / 1e9, 100 * sampler->stopped_share);
}

/* Puts the times of the first and the last sample, on the clock that was asked for. */
static void notes_add_time(struct notes *notes, const struct snapshot *snapshot,
			   enum clock_kind clock)
{
	char from[CLOCKS_TEXT_BYTES], to[CLOCKS_TEXT_BYTES];
	uint64_t from_ns, to_ns;

	if (!snapshot->run || !snapshot->started_ns)
		return;
	if (!clocks_convert(&snapshot->first_clocks, clock, snapshot->started_ns, &from_ns) ||
	    !clocks_convert(&snapshot->clocks, clock, snapshot->time_ns, &to_ns))
		notes_add(notes, "time: not known on %s", clocks_describe(clock));
	else
		notes_add(notes, "time: %s to %s, %s", clocks_format(clock, from_ns, from),
			  clocks_format(clock, to_ns, to), clocks_describe(clock));
}

/* A sample that is missing or not whole changes what the shares mean. */
static void notes_add_losses(struct notes *notes, const struct snapshot *snapshot)
{
	const struct resolver_counts *resolver = &snapshot->resolver;

	notes_add(notes, "samples: %" PRIu64 ", of %.0f ticks", resolver->samples,
		  resolver->weight);
	notes_add(notes,
		  "lost: %" PRIu64 " ticks, %" PRIu64 " refused, %" PRIu64
		  " samples unresolved, %" PRIu64 " call chains evicted",
		  snapshot_get_run(snapshot)->sampler.lost,
		  snapshot_get_run(snapshot)->sampler.refused, resolver->unresolved,
		  resolver->evicted_nodes);
	notes_add(notes, "truncated: %.2f %% of ticks",
		  notes_percent(resolver->weight_truncated, resolver->weight));
	notes_add(notes, "without a name: %.2f %% of ticks",
		  notes_percent(resolver->weight_unknown, resolver->weight));
}

/* Says for how long there were no samples. The guest may have done something else meanwhile. */
static void notes_add_gaps(struct notes *notes, const struct snapshot *snapshot)
{
	const struct sampler_counts *sampler = &snapshot_get_run(snapshot)->sampler;
	uint64_t n = sampler->lost + sampler->missed;

	if (n && sampler->rate_asked_hz > 0)
		notes_add(notes,
			  "gaps: %" PRIu64 " ticks without a sample, %.1f s, %" PRIu64
			  " of them in no share",
			  n, (double)n / sampler->rate_asked_hz, sampler->given_up);
}

/* Ticks of waits are milliseconds. */
static void notes_add_waits(struct notes *notes, const struct snapshot *waits)
{
	notes_add(notes, "waits: %.1f s that tasks waited, in %.1f s", waits->total_weight / 1e3,
		  waits->waits->span_ticks / 1e3);
}

void notes_build(const struct snapshot *snapshot, const struct export_settings *settings,
		 struct notes *notes)
{
	notes->n = 0;
	notes_add(notes, "made by: %s", PACKAGE_STRING);
	notes_add_guest(notes, snapshot, settings);
	notes_add_sampling(notes, snapshot);
	notes_add_time(notes, snapshot, settings->clock);
	notes_add_losses(notes, snapshot);
	notes_add_gaps(notes, snapshot);
	if (settings->waits)
		notes_add_waits(notes, settings->waits);
	if (settings->filter)
		notes_add(notes, "filter: %s", filter_text(settings->filter));
	if (settings->part)
		notes_add(notes, "only: %s", settings->part);
	for (size_t i = 0; i < sizeof(snapshot_get_run(snapshot)->notes) /
				       sizeof(snapshot_get_run(snapshot)->notes[0]);
	     i++)
		if (snapshot_get_run(snapshot)->notes[i][0])
			notes_add(notes, "note: %s", snapshot_get_run(snapshot)->notes[i]);
}
