/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics as one JSON object (RFC 8259). doc/FORMATS lists the members, in this order; the
 * counters come from the table of counters.h. Main's thread, once, at the end.
 *
 * Numbers do not depend on the locale, and a number that is not finite is null.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <locale.h>

#include "export/json.h"
#include "xtop/query/counters.h"

#define STATS_VERSION 1

/* --- counters --------------------------------------------------------------------------------- */

static void stats_put_elements(struct json *json, const uint64_t *counts, const char *const *names,
			       size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_u64(json, names[i], counts[i]);
}

static void stats_put_ticks(struct json *json, const double *ticks, const char *const *names,
			    size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_u64(json, names[i], (uint64_t)(ticks[i] + 0.5));
}

static void stats_put_counter(struct json *json, const struct counter *counter,
			      const struct snapshot *snapshot)
{
	const void *value = counter_value(counter, snapshot);

	switch (counter->kind) {
	case COUNTER_U64:
		json_u64(json, counter->name, *(const uint64_t *)value);
		break;
	case COUNTER_DOUBLE:
		json_double(json, counter->name, *(const double *)value);
		break;
	case COUNTER_ARRAY:
		json_open(json, counter->name, '{');
		stats_put_elements(json, value, counter->elements, counter->n);
		json_close(json, '}');
		break;
	case COUNTER_TICKS:
		json_open(json, counter->name, '{');
		stats_put_ticks(json, value, counter->elements, counter->n);
		json_close(json, '}');
		break;
	}
}

static void stats_put_group(struct json *json, enum counter_group group,
			    const struct snapshot *snapshot)
{
	for (size_t i = 0; i < n_counters; i++)
		if (counters[i].group == group)
			stats_put_counter(json, &counters[i], snapshot);
}

/* --- the object ------------------------------------------------------------------------------- */

static void stats_put_head(struct json *json, const struct snapshot *snapshot,
			   const struct stats_info *info)
{
	const struct sampler_counts *sampler = &snapshot_get_run(snapshot)->sampler;
	double elapsed_s = (double)sampler->elapsed_ns / 1e9;

	json_u64(json, "version", STATS_VERSION);
	json_text(json, "program", PACKAGE_STRING);
	json_text(json, "domain", info->domain);
	json_text(json, "type", info->type);
	json_u64(json, "n_vcpus", snapshot_get_run(snapshot)->n_vcpus);
	json_double(json, "wall_s", info->wall_s);
	json_open(json, "rate_hz", '{');
	json_double(json, "asked", sampler->rate_asked_hz);
	json_double(json, "reached", elapsed_s > 0 ? (double)sampler->samples / elapsed_s : 0);
	json_double(json, "now", sampler->rate_now_hz);
	json_close(json, '}');
}

static void stats_put_stopped(struct json *json, const struct snapshot *snapshot)
{
	const struct stopped_summary *stopped = &snapshot_get_run(snapshot)->stopped;

	json_open(json, "stopped_ns", '{');
	stats_put_group(json, COUNTERS_STOPPED, snapshot);
	json_open(json, "log2", '[');
	for (size_t i = 0; i < sizeof(stopped->log2) / sizeof(stopped->log2[0]); i++)
		json_u64(json, NULL, stopped->log2[i]);
	json_close(json, ']');
	json_close(json, '}');
}

static const char *stats_sampler_state(enum sampler_state state)
{
	switch (state) {
	case SAMPLER_STARTING:
		return "starting";
	case SAMPLER_RUNNING:
		return "running";
	case SAMPLER_GUEST_PAUSED:
		return "guest_paused";
	case SAMPLER_HUNG:
		return "hung";
	case SAMPLER_GUEST_AWAY:
		return "guest_away";
	case SAMPLER_GUEST_GONE:
		return "guest_gone";
	case SAMPLER_ENDED:
		return "ended";
	case SAMPLER_FAILED:
		return "failed";
	}
	return "unknown";
}

static void stats_put_counters(struct json *json, const struct snapshot *snapshot)
{
	json_open(json, "sampler", '{');
	json_text(json, "state", stats_sampler_state(snapshot_get_run(snapshot)->sampler.state));
	stats_put_group(json, COUNTERS_SAMPLER, snapshot);
	json_close(json, '}');
	json_open(json, "resolver", '{');
	stats_put_group(json, COUNTERS_RESOLVER, snapshot);
	json_close(json, '}');
	json_open(json, "os", '{');
	stats_put_group(json, COUNTERS_OS, snapshot);
	json_close(json, '}');
}

/*
 * A recording has no times, so shares of ticks stand for them. A vCPU that was never looked at has
 * a share that is no number, which becomes null.
 */
static double stats_steal_percent(const struct snapshot_vcpu *vcpu)
{
	if (vcpu->times.span_ns)
		return 100 * (double)vcpu->times.waited_ns / (double)vcpu->times.span_ns;
	return 100 * (double)vcpu->states[VCPU_RUNNABLE] / (double)snapshot_vcpu_ticks(vcpu);
}

static void stats_put_vcpus(struct json *json, const struct snapshot *snapshot)
{
	json_open(json, "vcpus", '[');
	for (unsigned i = 0; i < snapshot_get_run(snapshot)->n_vcpus && i < GUEST_MAX_VCPUS; i++) {
		json_open(json, NULL, '{');
		stats_put_ticks(json, snapshot_get_run(snapshot)->vcpus[i].states,
				counter_vcpu_states, N_VCPU_STATES);
		json_u64(json, "user", (uint64_t)(snapshot_get_run(snapshot)->vcpus[i].user + 0.5));
		json_double(json, "steal_percent",
			    stats_steal_percent(&snapshot_get_run(snapshot)->vcpus[i]));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void stats_put_costs(struct json *json, const struct snapshot *snapshot,
			    const struct stats_info *info)
{
	json_open(json, "profile", '{');
	json_u64(json, "nodes", snapshot->n_nodes);
	json_u64(json, "frames", snapshot->n_frames);
	json_double(json, "live_weight", snapshot->live_weight);
	json_double(json, "live_worth", snapshot->worth_live.samples);
	json_double(json, "total_worth", snapshot->worth_total.samples);
	json_u64(json, "total_weight", (uint64_t)(snapshot->total_weight + 0.5));
	json_u64(json, "ring_permille", snapshot_get_run(snapshot)->ring_permille);
	json_u64(json, "lag_ns", snapshot->resolver.lag_ns);
	json_close(json, '}');
	json_open(json, "cpu_s", '{');
	json_double(json, "sampler", (double)snapshot_get_run(snapshot)->sampler.cpu_ns / 1e9);
	json_double(json, "resolver", (double)snapshot->resolver.cpu_ns / 1e9);
	json_double(json, "ui", info->ui_cpu_s);
	json_close(json, '}');
	json_open(json, "memory_bytes", '{');
	json_u64(json, "rss", info->rss_bytes);
	json_u64(json, "profile", snapshot->profile_bytes);
	json_close(json, '}');
}

static void stats_put_waits(struct json *json, const struct snapshot *snapshot)
{
	const struct snapshot_waits *waits = snapshot ? snapshot->waits : NULL;

	if (!waits)
		return;
	json_open(json, "waits", '{');
	json_bool(json, "tasks_known", !waits->unsupported);
	json_u64(json, "passes", waits->counts.passes);
	json_u64(json, "tasks", waits->counts.tasks);
	json_u64(json, "looks", waits->counts.looks);
	json_u64(json, "running", waits->counts.running);
	json_u64(json, "stacks", waits->counts.stacks);
	json_u64(json, "retried", waits->counts.retried);
	json_u64(json, "left_out", waits->counts.left_out);
	json_u64(json, "unreadable", waits->counts.unreadable);
	json_u64(json, "no_room", waits->counts.no_room);
	json_u64(json, "rows_refused", waits->rows_refused);
	json_u64(json, "locks_found", waits->counts.locks_found);
	json_u64(json, "locks_unknown", waits->counts.locks_unknown);
	json_u64(json, "lock_looks", waits->counts.locks);
	json_u64(json, "locks_moved", waits->counts.locks_moved);
	json_u64(json, "locks_refused", waits->locks_refused);
	json_double(json, "span_s", waits->span_ticks / 1e3);
	json_double(json, "waited_s", snapshot->total_weight / 1e3);
	json_u64(json, "truncated", resolver_truncated(&snapshot->resolver));
	json_double(json, "cpu_s", (double)waits->cpu_ns / 1e9);
	json_double(json, "locks_cpu_s", (double)waits->counts.locks_cpu_ns / 1e9);
	json_close(json, '}');
}

struct xtop_error *export_stats(const struct snapshot *snapshot, const struct stats_info *info,
				FILE *file)
{
	locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), old_locale;
	struct json json = { .file = file };

	if (!c_locale)
		return error_create("out of memory");
	old_locale = uselocale(c_locale);
	json_open(&json, NULL, '{');
	stats_put_head(&json, snapshot, info);
	stats_put_stopped(&json, snapshot);
	stats_put_counters(&json, snapshot);
	stats_put_vcpus(&json, snapshot);
	stats_put_costs(&json, snapshot, info);
	stats_put_waits(&json, info->waits);
	json_close(&json, '}');
	fputc('\n', file);
	uselocale(old_locale);
	freelocale(c_locale);
	return NULL;
}
