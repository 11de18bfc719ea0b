/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of intervals on their way to the sender; see publisher.h. */
#include "config.h"

#include "xtop/service/publisher.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/base/interrupt.h"
#include "xtop/base/notify.h"
#include "xtop/base/text.h"
#include "xtop/export/export.h"
#include "xtop/supervise/broker.h"

#define PUBLISHER_NAP_NS       250000000 /* time between turns over all guests */
#define PUBLISHER_NAPS         20        /* the least number of naps in an interval */
#define PUBLISHER_LEAST_NAP_NS 10000000
/* A resolver may sleep through the end of a shorter interval. */
#define PUBLISHER_WAKES_NS     4000000000
#define PUBLISHER_STATUS_NS    5000000000ULL /* time between two states for the service manager */

/* --- the start -------------------------------------------------------------------------------- */

struct xtop_error *publisher_start(struct publisher *publisher, const char *cache)
{
	const struct options *options = publisher->options;
	struct utsname name;
	struct xtop_error *error = NULL;

	if (uname(&name) == 0)
		snprintf(publisher->host, sizeof(publisher->host), "%s", name.nodename);
	publisher->settings = (struct push_settings){
		.url = options->push,
		.config = options->push_config,
		.labels = options->labels,
		.n_labels = options->n_labels,
		.host = publisher->host,
		.xen = publisher->xen + (strncmp(publisher->xen, "Xen ", 4) == 0 ? 4 : 0),
		.cache = cache,
		.hz = options->freq_hz,
	};
	publisher->push.options = options;
	publisher->host_budget.limit = options->host_budget;
	publisher->host_budget.hz = options->freq_hz;
	publisher->collector.options = options;
	publisher->collector.pipelines = publisher->pipelines;
	publisher->collector.report = publisher->report;
	publisher->collector.xen = publisher->settings.xen;
	if (options->metrics)
		error = metrics_start(options->metrics, &publisher->metrics);
	publisher->collector.metrics = publisher->metrics;
	if (!error && options->push)
		error = push_start(&publisher->settings, &publisher->push.push);
	if (!error && options->push) {
		publisher->push.gzip = gzip_create(true);
		if (!publisher->push.gzip)
			error = error_create("out of memory");
	}
	publisher->started = !error;
	return error;
}

/* --- intervals -------------------------------------------------------------------------------- */

/* Turns the sampler's counters since its start into counters of the interval. */
static void publisher_count_losses(struct publisher_guest *guest, struct snapshot *snapshot)
{
	uint64_t lost = snapshot->run->sampler.lost, refused = snapshot->run->sampler.refused;

	snapshot->run->sampler.lost = lost < guest->lost ? lost : lost - guest->lost;
	snapshot->run->sampler.refused =
		refused < guest->refused ? refused : refused - guest->refused;
	guest->lost = lost;
	guest->refused = refused;
}

static void publisher_report_error(const struct publisher *publisher, struct xtop_error *error)
{
	if (error && publisher->report)
		publisher->report(error_message(error));
	error_destroy(error);
}

/* Takes an interval of samples. Frees SNAPSHOT. */
static void publisher_take(struct publisher *publisher, struct publisher_guest *guest,
			   const struct pipeline *pipeline, struct snapshot *snapshot)
{
	struct snapshot *before = no_cleanup_ptr(snapshot->before);

	if (before)
		publisher_take(publisher, guest, pipeline, before);
	push_interval_begin(&guest->samples, snapshot);
	publisher_count_losses(guest, snapshot);
	metrics_collector_take(&publisher->collector, (size_t)(guest - publisher->guests),
			       snapshot);
	publisher_report_error(publisher, push_interval_end(&publisher->push, &guest->samples,
							    pipeline, snapshot));
	guest->ended |= snapshot->at_end;
	snapshot_destroy(snapshot);
}

/* Takes an interval of tasks that wait: a profile of its own, in milliseconds. Frees SNAPSHOT. */
static void publisher_take_waits(struct publisher *publisher, struct publisher_guest *guest,
				 const struct pipeline *pipeline, struct snapshot *snapshot)
{
	struct snapshot *before = no_cleanup_ptr(snapshot->before);

	if (before)
		publisher_take_waits(publisher, guest, pipeline, before);
	push_interval_begin(&guest->waits, snapshot);
	metrics_collector_take_waits(&publisher->collector, (size_t)(guest - publisher->guests),
				     snapshot);
	publisher_report_error(
		publisher, push_interval_end(&publisher->push, &guest->waits, pipeline, snapshot));
	snapshot_destroy(snapshot);
}

/* Takes the waits with --push. Without --push the collector looks at waits itself. */
static bool publisher_has_waits(const struct publisher *publisher, const struct pipeline *pipeline)
{
	return publisher->options->push && publisher->options->waits_hz > 0 &&
	       pipeline_waits_slot(pipeline);
}

/* Takes the snapshots of GUEST that have come. */
static void publisher_take_all(struct publisher *publisher, struct publisher_guest *guest,
			       const struct pipeline *pipeline)
{
	struct snapshot *snapshot;

	if (publisher_has_waits(publisher, pipeline)) {
		snapshot = snapshot_take(pipeline_waits_slot(pipeline));
		if (snapshot)
			publisher_take_waits(publisher, guest, pipeline, snapshot);
	}
	snapshot = snapshot_take(pipeline_slot(pipeline));
	if (!snapshot)
		return;
	guest->asked = false;
	publisher_take(publisher, guest, pipeline, snapshot);
}

/* --- lines for the user ----------------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
publisher_report(const struct publisher *publisher, const char *format, ...)
{
	char line[512], clean[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	text_clean_line(clean, sizeof(clean), line, strlen(line));
	if (publisher->report)
		publisher->report(clean);
}

static void publisher_report_guest(struct publisher *publisher, struct publisher_guest *guest,
				   struct pipeline *pipeline)
{
	const char *note = pipeline_get_message(pipeline);

	if (*note && strcmp(note, guest->note) != 0)
		publisher_report(publisher, "%s: %s", pipeline_guest(pipeline)->name, note);
	snprintf(guest->note, sizeof(guest->note), "%s", note);
}

static void publisher_report_delivery(struct publisher *publisher, bool last)
{
	char line[DELIVERY_LINE_BYTES];

	if (delivery_update(&publisher->delivery, publisher->push.push, last, line))
		publisher_report(publisher, "%s", line);
}

/* --- the budget of all guests ----------------------------------------------------------------- */

static void publisher_keep_budget(struct publisher *publisher, uint64_t now_ns)
{
	uint64_t others_ns = publisher->delivery.status.cpu_ns + publisher->collector.status.cpu_ns;
	char line[HOST_SHARE_LINE_BYTES];

	if (host_share_keep(&publisher->host_budget, publisher->pipelines, others_ns, now_ns, line))
		publisher_report(publisher, "%s", line);
}

static void publisher_put_state(enum notify_state state)
{
	const struct notify_news news = { .state = state };

	broker_put_news(&news);
}

/* Tells the service manager the line that `systemctl status` shows. */
static void publisher_notify_status(struct publisher *publisher, uint64_t now_ns)
{
	const struct push_status *status = &publisher->delivery.status;
	struct notify_news news = { .state = NOTIFY_STATUS,
				    .sent = status->sent,
				    .waiting = status->waiting,
				    .refused = status->refused,
				    .dropped = status->dropped };

	if (notify_is_due(now_ns, &publisher->alive_ns))
		publisher_put_state(NOTIFY_ALIVE);
	if (now_ns - publisher->notified_ns < PUBLISHER_STATUS_NS)
		return;
	publisher->notified_ns = now_ns;
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		news.guests += pipelines_get(publisher->pipelines, i) != NULL;
	if (publisher->host_budget.stride > 1) {
		news.hz = publisher->host_budget.hz / publisher->host_budget.stride;
		news.full_hz = publisher->host_budget.hz;
	}
	broker_put_news(&news);
}

/* --- the run ---------------------------------------------------------------------------------- */

static bool publisher_has_ended(const struct publisher_guest *guest,
				const struct pipeline *pipeline)
{
	struct sampler_counts counts;

	control_get_counts(pipeline_control(pipeline), &counts);
	return guest->ended || counts.state == SAMPLER_GUEST_GONE || counts.state == SAMPLER_FAILED;
}

/*
 * Tells the resolver when the next interval ends. The resolver knows long before the end, so that
 * an interval has its length even if main or the resolver are busy then. If this process was held
 * and has missed an end, no interval makes up for it.
 */
static void publisher_ask(const struct publisher *publisher, struct publisher_guest *guest,
			  struct pipeline *pipeline, uint64_t now_ns)
{
	uint64_t interval_ns = (uint64_t)(publisher->options->interval_s * 1e9);
	bool waits = guest->due_ns && publisher_has_waits(publisher, pipeline);

	if (!guest->due_ns) /* the guest may have been started since the last turn */
		guest->due_ns = pipeline_started_ns(pipeline);
	guest->due_ns += (1 + (now_ns - guest->due_ns) / interval_ns) * interval_ns;
	snapshot_request_until(pipeline_slot(pipeline), guest->due_ns);
	guest->asked = true;
	if (waits)
		snapshot_request(pipeline_waits_slot(pipeline));
	if (waits || interval_ns < PUBLISHER_WAKES_NS)
		pipeline_wake(pipeline);
}

static void publisher_poll_guest(struct publisher *publisher, struct publisher_guest *guest,
				 struct pipeline *pipeline, uint64_t now_ns)
{
	publisher_report_guest(publisher, guest, pipeline);
	publisher_take_all(publisher, guest, pipeline);
	if (!guest->asked)
		publisher_ask(publisher, guest, pipeline, now_ns);
}

/* Ends a guest of --all that is gone: publishes its last interval, and frees its place. */
static void publisher_end_guest(struct publisher *publisher, size_t i)
{
	struct pipeline *pipeline = pipelines_get(publisher->pipelines, i);

	publisher_report_error(publisher, pipelines_stop_guest_at(publisher->pipelines, i));
	publisher_take_all(publisher, &publisher->guests[i], pipeline);
	publisher_report_error(publisher, pipeline_get_failure(pipeline));
	publisher_report(publisher, "%s (dom %u): sampling has ended",
			 pipeline_guest(pipeline)->name, pipeline_guest(pipeline)->domid);
	pipelines_remove_at(publisher->pipelines, i);
	publisher->guests[i] = (struct publisher_guest){ .due_ns = 0 };
	metrics_collector_forget(&publisher->collector, i);
}

/* Makes a turn over all guests. False: all guests have ended, and no other one is to come. */
static bool publisher_turn(struct publisher *publisher)
{
	bool all = publisher->options->all, more = all;
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		struct pipeline *pipeline = pipelines_get(publisher->pipelines, i);

		if (!pipeline)
			continue;
		publisher_poll_guest(publisher, &publisher->guests[i], pipeline, now_ns);
		if (!publisher_has_ended(&publisher->guests[i], pipeline))
			more = true;
		else if (all)
			publisher_end_guest(publisher, i);
	}
	if (publisher->push.push)
		publisher_report_delivery(publisher, false);
	publisher_keep_budget(publisher, now_ns);
	publisher->collector.host = &publisher->host_budget;
	metrics_collector_poll(&publisher->collector,
			       publisher->options->push ? &publisher->delivery.status : NULL,
			       now_ns);
	publisher_notify_status(publisher, now_ns);
	return more;
}

static struct xtop_error *publisher_find_guests(struct publisher *publisher)
{
	if (!publisher->options->all)
		return NULL;
	return all_guests_poll(&publisher->all, publisher->options, publisher->pipelines,
			       publisher->report);
}

/* Whether sender and server still run. Without rights main cannot start them again. */
static struct xtop_error *publisher_check_processes(const struct publisher *publisher)
{
	struct metrics_status status;

	if (publisher->options->push && !push_is_alive(publisher->push.push))
		return error_create("the process that sends profiles was killed");
	if (publisher->options->metrics && !metrics_is_alive(publisher->metrics)) {
		metrics_get_status(publisher->metrics, &status);
		return status.failing ? error_create("--metrics: %s", status.message)
				      : error_create("the process that serves metrics was killed");
	}
	return NULL;
}

static void publisher_nap(const struct publisher *publisher)
{
	double nap_ns = publisher->options->interval_s * 1e9 / PUBLISHER_NAPS;

	nap_ns = nap_ns < PUBLISHER_NAP_NS ? nap_ns : PUBLISHER_NAP_NS;
	nap_ns = nap_ns > PUBLISHER_LEAST_NAP_NS ? nap_ns : PUBLISHER_LEAST_NAP_NS;
	nanosleep(&(struct timespec){ .tv_nsec = (long)nap_ns }, NULL);
}

struct xtop_error *publisher_run(struct publisher *publisher)
{
	const struct options *options = publisher->options;
	uint64_t end_ns = options->time_s > 0 ? clock_now_ns() + (uint64_t)(options->time_s * 1e9)
					      : UINT64_MAX;
	struct xtop_error *error;

	interrupt_catch();
	if (options->replay && pipeline_is_profile(pipelines_first(publisher->pipelines)))
		return error_create("--push and --metrics: '%s' is a profile already: "
				    "a recording or a guest has samples",
				    options->replay);
	if (options->push)
		publisher_report(publisher, "--push: a profile every %g s to %s",
				 options->interval_s, options->push);
	error = publisher_find_guests(publisher);
	if (!error)
		publisher_put_state(NOTIFY_READY);
	while (!error && !interrupt_came() && clock_now_ns() < end_ns &&
	       publisher_turn(publisher)) {
		publisher_nap(publisher);
		error = publisher_check_processes(publisher);
		if (!error)
			error = publisher_find_guests(publisher);
	}
	publisher_put_state(NOTIFY_STOPPING);
	return error;
}

void publisher_finish(struct publisher *publisher)
{
	struct push_status *status = &publisher->delivery.status;

	metrics_stop(publisher->metrics);
	publisher->metrics = NULL;
	if (!publisher->started || !publisher->options->push)
		return;
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		struct pipeline *pipeline = pipelines_get(publisher->pipelines, i);

		if (pipeline && !pipeline_is_profile(pipeline))
			publisher_take_all(publisher, &publisher->guests[i], pipeline);
	}
	push_finish(publisher->push.push);
	publisher_report_delivery(publisher, true);
	publisher_report(publisher,
			 "--push: %" PRIu64 " profiles: %" PRIu64 " delivered (%" PRIu64
			 " bytes), %" PRIu64 " wait, %" PRIu64 " refused, %" PRIu64 " dropped",
			 publisher->push.pushed, status->sent, status->sent_bytes, status->waiting,
			 status->refused, status->dropped);
}
