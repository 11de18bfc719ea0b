/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of --metrics; see metrics_collector.h. */
#include "config.h"

#include "xtop/service/metrics_collector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/text.h"
#include "xtop/base/usage.h"
#include "xtop/query/waits.h"
#include "xtop/supervise/broker.h"

/* --- what comes ------------------------------------------------------------------------------- */

static struct metrics_collector_guest *metrics_collector_guest(struct metrics_collector *collector,
							       size_t i)
{
	const struct pipeline *pipeline = pipelines_get(collector->pipelines, i);
	struct metrics_collector_guest *guest = &collector->guests[i];

	if (guest->pipeline != pipeline)
		*guest = (struct metrics_collector_guest){ .pipeline = pipeline };
	return guest;
}

void metrics_collector_take(struct metrics_collector *collector, size_t i,
			    const struct snapshot *snapshot)
{
	struct metrics_collector_guest *guest = metrics_collector_guest(collector, i);

	if (!collector->options->metrics)
		return;
	guest->stacks += snapshot->resolver.weight;
	guest->truncated += snapshot->resolver.weight_truncated;
	guest->unknown += snapshot->resolver.weight_unknown;
	guest->resolver_cpu_s = (double)snapshot->resolver.cpu_ns / 1e9;
	guest->profile_bytes = (double)snapshot->profile_bytes;
	metrics_functions_update(&guest->functions, snapshot, snapshot->time_ns);
}

void metrics_collector_take_waits(struct metrics_collector *collector, size_t i,
				  const struct snapshot *snapshot)
{
	struct metrics_collector_guest *guest = metrics_collector_guest(collector, i);
	struct waits_table table;
	struct xtop_error *error;

	if (!collector->options->metrics || snapshot->waits->unsupported)
		return;
	error = waits_build(snapshot, &table);
	if (error) {
		error_destroy(error);
		return;
	}
	guest->has_waits = true;
	memset(guest->waiting, 0, sizeof(guest->waiting));
	for (size_t j = 0; j < table.n; j++)
		if (!table.rows[j].site.idle)
			guest->waiting[table.rows[j].site.kind] += table.rows[j].mean;
	waits_deinit(&table);
}

/* Takes the waits without --push. With --push the publisher takes them as profiles of their own. */
static void metrics_collector_poll_waits(struct metrics_collector *collector)
{
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		const struct pipeline *pipeline = pipelines_get(collector->pipelines, i);
		struct snapshot *snapshot;

		if (!pipeline || !pipeline_waits_slot(pipeline))
			continue;
		snapshot = snapshot_take(pipeline_waits_slot(pipeline));
		if (snapshot)
			metrics_collector_take_waits(collector, i, snapshot);
		snapshot_destroy(snapshot);
		snapshot_request(pipeline_waits_slot(pipeline));
	}
}

void metrics_collector_forget(struct metrics_collector *collector, size_t i)
{
	collector->guests[i] = (struct metrics_collector_guest){ .pipeline = NULL };
}

/* --- the text --------------------------------------------------------------------------------- */

static void metrics_collector_set_times(const struct pipeline *pipeline,
					struct metrics_guest *guest)
{
	struct vcpu_times times[GUEST_MAX_VCPUS] = { { 0 } };
	unsigned n = pipeline_guest(pipeline)->n_vcpus;

	control_get_times(pipeline_control(pipeline), times, n);
	for (unsigned i = 0; i < n && i < GUEST_MAX_VCPUS; i++) {
		guest->vcpu_s += (double)times[i].span_ns / 1e9;
		guest->ran_s += (double)times[i].ran_ns / 1e9;
		guest->steal_s += (double)times[i].waited_ns / 1e9;
	}
}

static void metrics_collector_fill(const struct metrics_collector_guest *from,
				   const struct pipeline *pipeline, struct metrics_guest *guest)
{
	const struct control *control = pipeline_control(pipeline);
	struct sampler_counts counts;

	control_get_counts(control, &counts);
	guest->running = counts.state == SAMPLER_RUNNING;
	guest->rate_asked_hz = counts.rate_asked_hz;
	guest->rate_hz = counts.rate_now_hz;
	guest->budget_ratio = control_get_budget(control);
	guest->stopped_ratio = counts.stopped_share;
	guest->stopped_s = (double)counts.stopped_ns / 1e9;
	guest->samples = (double)counts.samples;
	guest->lost = (double)counts.lost;
	guest->refused = (double)counts.refused;
	guest->skipped = (double)counts.skipped_budget;
	guest->missed = (double)counts.missed;
	guest->sampler_cpu_s = (double)counts.cpu_ns / 1e9;
	guest->watchers_cpu_s = (double)control_get_watchers_cpu(control) / 1e9;
	guest->mapped_bytes = (double)counts.mapped_pages * GUEST_PAGE_SIZE;
	control_get_stopped(control, &guest->stopped);
	metrics_collector_set_times(pipeline, guest);
	guest->stacks = from->stacks;
	guest->truncated = from->truncated;
	guest->unknown = from->unknown;
	guest->resolver_cpu_s = from->resolver_cpu_s;
	guest->profile_bytes = from->profile_bytes;
	guest->n_functions = from->functions.n;
	guest->functions = from->functions.functions;
	guest->functions_rest = from->functions.rest;
	guest->has_waits = from->has_waits;
	memcpy(guest->waiting, from->waiting, sizeof(guest->waiting));
}

/*
 * While a guest reboots there may be two domains of one name and UUID. Prometheus refuses a text
 * that has a series twice, so the younger one counts.
 */
static bool metrics_collector_is_replaced(const struct metrics_collector *collector,
					  const struct guest_info *info)
{
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		const struct pipeline *pipeline = pipelines_get(collector->pipelines, i);
		const struct guest_info *other = pipeline ? pipeline_guest(pipeline) : NULL;

		if (other && other->domid > info->domid && strcmp(other->uuid, info->uuid) == 0 &&
		    strcmp(other->name, info->name) == 0)
			return true;
	}
	return false;
}

struct metrics_collector_names {
	char domain[GUEST_NAME_BYTES], uuid[40];
};

static void metrics_collector_clean(char *to, size_t capacity, const char *from)
{
	text_clean_line(to, capacity, from, strlen(from));
}

static size_t metrics_collector_fill_all(struct metrics_collector *collector,
					 struct metrics_guest *guests,
					 struct metrics_collector_names *names)
{
	size_t n = 0;

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		const struct pipeline *pipeline = pipelines_get(collector->pipelines, i);
		const struct guest_info *info = pipeline ? pipeline_guest(pipeline) : NULL;

		if (!info || metrics_collector_is_replaced(collector, info))
			continue;
		metrics_collector_clean(names[n].domain, sizeof(names[n].domain), info->name);
		metrics_collector_clean(names[n].uuid, sizeof(names[n].uuid), info->uuid);
		guests[n] =
			(struct metrics_guest){ .domain = names[n].domain, .uuid = names[n].uuid };
		metrics_collector_fill(metrics_collector_guest(collector, i), pipeline,
				       &guests[n++]);
	}
	return n;
}

static void metrics_collector_put(struct metrics_collector *collector,
				  const struct push_status *push)
{
	struct metrics_host host = { .version = PACKAGE_VERSION,
				     .xen = collector->xen,
				     .push = push };
	_cleanup_free_ struct metrics_guest *guests = calloc(PIPELINES_MAX_GUESTS, sizeof(*guests));
	_cleanup_free_ struct metrics_collector_names *names =
		calloc(PIPELINES_MAX_GUESTS, sizeof(*names));
	_cleanup_free_ char *text = NULL;
	size_t size_bytes = 0;
	FILE *file = guests && names ? open_memstream(&text, &size_bytes) : NULL;

	if (!file)
		return;
	host.usages[0].name = "main";
	usage_read(&host.usages[0].cpu_ns, &host.usages[0].resident_bytes);
	host.usages[1] = (struct metrics_usage){ "metrics", collector->status.cpu_ns,
						 collector->status.resident_bytes };
	host.usages[3] = (struct metrics_usage){ "broker", broker_cpu_ns(), 0 };
	if (collector->host && collector->host->limit > 0) {
		host.budget_ratio = collector->host->limit;
		host.cpu_ratio = collector->host->share;
	}
	if (push)
		host.usages[2] =
			(struct metrics_usage){ "push", push->cpu_ns, push->resident_bytes };
	metrics_write_text(&host, guests, metrics_collector_fill_all(collector, guests, names),
			   file);
	if (fclose(file) == 0)
		metrics_put(collector->metrics, text, size_bytes);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void metrics_collector_report(struct metrics_collector *collector)
{
	struct metrics_status status;
	char line[200], clean[200];

	metrics_get_status(collector->metrics, &status);
	if (status.failing && !collector->status.failing && metrics_is_alive(collector->metrics))
		snprintf(line, sizeof(line), "--metrics: %s", status.message);
	else if (!status.failing && status.port && !collector->status.port)
		snprintf(line, sizeof(line), "--metrics: on port %u, /metrics", status.port);
	else
		line[0] = '\0';
	collector->status = status;
	metrics_collector_clean(clean, sizeof(clean), line);
	if (clean[0] && collector->report)
		collector->report(clean);
}

static uint64_t metrics_collector_count_guests(const struct metrics_collector *collector)
{
	uint64_t n = 0;

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		n += pipelines_get(collector->pipelines, i) != NULL;
	return n;
}

void metrics_collector_poll(struct metrics_collector *collector, const struct push_status *push,
			    uint64_t now_ns)
{
	if (!collector->options->metrics)
		return;
	metrics_collector_report(collector);
	if (now_ns < collector->due_ns)
		return;
	collector->due_ns = now_ns + METRICS_COLLECTOR_STEP_NS +
			    metrics_collector_count_guests(collector) * METRICS_COLLECTOR_GUEST_NS;
	if (collector->options->waits_hz > 0 && !collector->options->push)
		metrics_collector_poll_waits(collector);
	metrics_collector_put(collector, push);
}
