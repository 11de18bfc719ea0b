/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prometheus' text format 0.0.4. All series of one metric follow its HELP and TYPE. So the loops
 * over metrics are the outer ones, and those over guests the inner ones.
 *
 *	# HELP xtop_samples_total Ticks that gave a sample.
 *	# TYPE xtop_samples_total counter
 *	xtop_samples_total{domain="web01",uuid="..."} 580
 *
 * In the value of a label a backslash, a quote and a line feed are escaped.
 */
#include "config.h"

#include "xtop/export/metrics_text.h"

#include <inttypes.h>
#include <locale.h>
#include <stddef.h>

/* --- pieces ----------------------------------------------------------------------------------- */

static void metrics_put_escaped(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			putc('\\', file);
		if (*text == '\n')
			fputs("\\n", file);
		else
			putc(*text, file);
	}
}

static void metrics_put_label(FILE *file, const char *name, const char *value)
{
	fprintf(file, ",%s=\"", name);
	metrics_put_escaped(file, value);
	putc('"', file);
}

/* "NAME{domain="...",uuid="...": more labels and the brace follow. */
static void metrics_put_guest(FILE *file, const char *name, const struct metrics_guest *guest)
{
	fprintf(file, "%s{domain=\"", name);
	metrics_put_escaped(file, guest->domain);
	putc('"', file);
	metrics_put_label(file, "uuid", guest->uuid);
}

static void metrics_put_head(FILE *file, const char *name, const char *type, const char *help)
{
	fprintf(file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* --- numbers of guests ------------------------------------------------------------------------ */

#define AT(field) offsetof(struct metrics_guest, field)

static const struct metric {
	const char *name, *type, *help;
	size_t offset; /* offset of a double in struct metrics_guest */
} metrics_of_guests[] = {
	{ "xtop_guest_sampled", "gauge", "1 if the guest is being sampled.", AT(running) },
	{ "xtop_rate_asked_hertz", "gauge", "Samples a second that were asked for.",
	  AT(rate_asked_hz) },
	{ "xtop_rate_hertz", "gauge", "Samples a second in the last second.", AT(rate_hz) },
	{ "xtop_budget_ratio", "gauge", "Share of its time for which the guest may be stopped.",
	  AT(budget_ratio) },
	{ "xtop_stopped_ratio", "gauge",
	  "Share of the last second for which the guest was stopped.", AT(stopped_ratio) },
	{ "xtop_stopped_seconds_total", "counter", "Time for which the guest was stopped.",
	  AT(stopped_s) },
	{ "xtop_samples_total", "counter", "Ticks that gave a sample, idle ones included.",
	  AT(samples) },
	{ "xtop_ticks_lost_total", "counter",
	  "Ticks without a sample because xtop was behind with earlier ones.", AT(lost) },
	{ "xtop_ticks_refused_total", "counter", "Ticks in which Xen did not stop the guest.",
	  AT(refused) },
	{ "xtop_ticks_skipped_total", "counter", "Ticks that were left out to keep the budget.",
	  AT(skipped) },
	{ "xtop_ticks_missed_total", "counter", "Ticks that came while an earlier one took long.",
	  AT(missed) },
	{ "xtop_stacks_total", "counter",
	  "Stacks of running vCPUs, each counted for the ticks it stands for.", AT(stacks) },
	{ "xtop_stacks_truncated_total", "counter",
	  "Stacks that do not reach their outermost function.", AT(truncated) },
	{ "xtop_stacks_unknown_total", "counter", "Stacks whose innermost function has no name.",
	  AT(unknown) },
	{ "xtop_vcpu_seconds_total", "counter", "Time of all vCPUs, running or not.", AT(vcpu_s) },
	{ "xtop_vcpu_ran_seconds_total", "counter", "Time for which vCPUs ran, by Xen's count.",
	  AT(ran_s) },
	{ "xtop_vcpu_steal_seconds_total", "counter",
	  "Time for which vCPUs waited in Xen's run queues for a physical CPU.", AT(steal_s) },
	{ "xtop_sampler_cpu_seconds_total", "counter", "CPU time of the guest's sampler process.",
	  AT(sampler_cpu_s) },
	{ "xtop_watchers_cpu_seconds_total", "counter",
	  "CPU time of the guest's guard and keeper, which watch its sampler.",
	  AT(watchers_cpu_s) },
	{ "xtop_resolver_cpu_seconds_total", "counter",
	  "CPU time of the thread that makes a profile out of the guest's samples.",
	  AT(resolver_cpu_s) },
	{ "xtop_sampler_mapped_bytes", "gauge", "Guest memory that the sampler has mapped.",
	  AT(mapped_bytes) },
	{ "xtop_profile_memory_bytes", "gauge", "Memory of the guest's profile and its names.",
	  AT(profile_bytes) },
};

static void metrics_put_numbers(FILE *file, const struct metric *metric,
				const struct metrics_guest *guests, size_t n)
{
	metrics_put_head(file, metric->name, metric->type, metric->help);
	for (size_t i = 0; i < n; i++) {
		const void *value = (const char *)&guests[i] + metric->offset;

		metrics_put_guest(file, metric->name, &guests[i]);
		fprintf(file, "} %.15g\n", *(const double *)value);
	}
}

/* --- what has more labels --------------------------------------------------------------------- */

static void metrics_put_quantile(FILE *file, const struct metrics_guest *guest,
				 const char *quantile, uint64_t ns)
{
	metrics_put_guest(file, "xtop_stop_duration_seconds", guest);
	metrics_put_label(file, "quantile", quantile);
	fprintf(file, "} %.9f\n", (double)ns / 1e9);
}

static void metrics_put_stops(FILE *file, const struct metrics_guest *guests, size_t n)
{
	metrics_put_head(file, "xtop_stop_duration_seconds", "summary",
			 "How long stops took, since sampling began.");
	for (size_t i = 0; i < n; i++) {
		const struct stopped_summary *stopped = &guests[i].stopped;

		metrics_put_quantile(file, &guests[i], "0.5", stopped->p50_ns);
		metrics_put_quantile(file, &guests[i], "0.9", stopped->p90_ns);
		metrics_put_quantile(file, &guests[i], "0.99", stopped->p99_ns);
		metrics_put_quantile(file, &guests[i], "1", stopped->max_ns);
		metrics_put_guest(file, "xtop_stop_duration_seconds_sum", &guests[i]);
		fprintf(file, "} %.9f\n", stopped->mean_ns * (double)stopped->n / 1e9);
		metrics_put_guest(file, "xtop_stop_duration_seconds_count", &guests[i]);
		fprintf(file, "} %" PRIu64 "\n", stopped->n);
	}
}

static void metrics_put_function(FILE *file, const struct metrics_guest *guest, const char *name,
				 const char *module, double ratio)
{
	metrics_put_guest(file, "xtop_function_self_ratio", guest);
	metrics_put_label(file, "function", name);
	metrics_put_label(file, "module", module);
	fprintf(file, "} %.6f\n", ratio);
}

static void metrics_put_functions(FILE *file, const struct metrics_guest *guests, size_t n)
{
	metrics_put_head(file, "xtop_function_self_ratio", "gauge",
			 "Share of the last interval's stacks that ended in the function.");
	for (size_t i = 0; i < n; i++) {
		const struct metrics_guest *guest = &guests[i];

		for (size_t j = 0; j < guest->n_functions; j++)
			metrics_put_function(file, guest, guest->functions[j].name,
					     guest->functions[j].module,
					     guest->functions[j].ratio);
		if (guest->n_functions)
			metrics_put_function(file, guest, "[others]", "", guest->functions_rest);
	}
}

static void metrics_put_waits(FILE *file, const struct metrics_guest *guests, size_t n)
{
	metrics_put_head(file, "xtop_waiting_tasks", "gauge",
			 "Mean number of tasks that waited, lately, by what they waited for; "
			 "CPU: in the guest's run queues.");
	for (size_t i = 0; i < n; i++)
		for (int kind = 0; kind < N_WAIT_KINDS && guests[i].has_waits; kind++) {
			metrics_put_guest(file, "xtop_waiting_tasks", &guests[i]);
			metrics_put_label(file, "kind", wait_kind_names[kind]);
			fprintf(file, "} %.6f\n", guests[i].waiting[kind]);
		}
}

/* --- the host --------------------------------------------------------------------------------- */

static void metrics_put_count(FILE *file, const char *name, const char *type, uint64_t value,
			      const char *help)
{
	metrics_put_head(file, name, type, help);
	fprintf(file, "%s %" PRIu64 "\n", name, value);
}

static void metrics_put_push(FILE *file, const struct push_status *push)
{
	metrics_put_count(file, "xtop_push_sent_profiles_total", "counter", push->sent,
			  "Profiles that a store has taken.");
	metrics_put_count(file, "xtop_push_sent_bytes_total", "counter", push->sent_bytes,
			  "Bytes of these.");
	metrics_put_count(file, "xtop_push_refused_profiles_total", "counter", push->refused,
			  "Profiles that the store does not want.");
	metrics_put_count(file, "xtop_push_dropped_profiles_total", "counter", push->dropped,
			  "Profiles for which there was no room, the oldest first.");
	metrics_put_count(file, "xtop_push_failures_total", "counter", push->failures,
			  "Attempts to send that will be repeated.");
	metrics_put_count(file, "xtop_push_waiting_profiles", "gauge", push->waiting,
			  "Profiles that wait in memory and in the spool.");
	metrics_put_count(file, "xtop_push_waiting_bytes", "gauge", push->waiting_bytes,
			  "Bytes of these.");
	metrics_put_count(file, "xtop_push_failing", "gauge", push->failing,
			  "1 if the last attempt to send has failed.");
}

static void metrics_put_usages(FILE *file, const struct metrics_host *host)
{
	metrics_put_head(file, "xtop_process_cpu_seconds_total", "counter",
			 "CPU time of a process that all guests share, the resolvers' included.");
	for (size_t i = 0; i < METRICS_MAX_USAGES; i++)
		if (host->usages[i].name)
			fprintf(file, "xtop_process_cpu_seconds_total{process=\"%s\"} %.6f\n",
				host->usages[i].name, (double)host->usages[i].cpu_ns / 1e9);
	metrics_put_head(file, "xtop_process_resident_memory_bytes", "gauge",
			 "Resident memory of a process that all guests share.");
	for (size_t i = 0; i < METRICS_MAX_USAGES; i++)
		if (host->usages[i].name && host->usages[i].resident_bytes)
			fprintf(file,
				"xtop_process_resident_memory_bytes{process=\"%s\"} %" PRIu64 "\n",
				host->usages[i].name, host->usages[i].resident_bytes);
}

static void metrics_put_budget(FILE *file, const struct metrics_host *host)
{
	metrics_put_head(file, "xtop_host_budget_ratio", "gauge",
			 "What all guests together may take of one CPU.");
	fprintf(file, "xtop_host_budget_ratio %.6g\n", host->budget_ratio);
	metrics_put_head(file, "xtop_host_cpu_ratio", "gauge",
			 "What all processes of xtop take of one CPU.");
	fprintf(file, "xtop_host_cpu_ratio %.6g\n", host->cpu_ratio);
}

static void metrics_put_host(FILE *file, const struct metrics_host *host, size_t n)
{
	metrics_put_head(file, "xtop_build_info", "gauge",
			 "Always 1; the versions of xtop and Xen.");
	fputs("xtop_build_info{version=\"", file);
	metrics_put_escaped(file, host->version);
	putc('"', file);
	metrics_put_label(file, "xen", host->xen);
	fputs("} 1\n", file);
	metrics_put_count(file, "xtop_guests", "gauge", n, "Guests that xtop looks at.");
	metrics_put_usages(file, host);
	if (host->budget_ratio > 0)
		metrics_put_budget(file, host);
	if (host->push)
		metrics_put_push(file, host->push);
}

void metrics_write_text(const struct metrics_host *host, const struct metrics_guest *guests,
			size_t n, FILE *file)
{
	locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), old_locale;

	if (!c_locale)
		return;
	old_locale = uselocale(c_locale);
	metrics_put_host(file, host, n);
	for (size_t i = 0; i < sizeof(metrics_of_guests) / sizeof(metrics_of_guests[0]); i++)
		metrics_put_numbers(file, &metrics_of_guests[i], guests, n);
	metrics_put_stops(file, guests, n);
	metrics_put_functions(file, guests, n);
	metrics_put_waits(file, guests, n);
	uselocale(old_locale);
	freelocale(c_locale);
}
