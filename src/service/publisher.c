/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of intervals on their way to the sender; see publisher.h. */
#include "config.h"

#include "xtop/service/publisher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/base/interrupt.h"
#include "xtop/base/notify.h"
#include "xtop/base/text.h"
#include "xtop/export/export.h"
#include "xtop/query/line_expander.h"

#define PUBLISHER_NAP_NS       250000000 /* time between turns over all guests */
#define PUBLISHER_NAPS         20        /* the least number of naps in an interval */
#define PUBLISHER_LEAST_NAP_NS 10000000
/* A resolver may sleep through the end of a shorter interval. */
#define PUBLISHER_WAKES_NS     4000000000
#define PUBLISHER_STEP_NS      1000000000ULL  /* a clock that is off by more was set, not slewed */
#define PUBLISHER_QUIET_NS     60000000000ULL /* time between lines on what becomes of profiles */
#define PUBLISHER_STATUS_NS    5000000000ULL  /* time between two states for the service manager */

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
		error = push_start(&publisher->settings, &publisher->push);
	if (!error && options->push) {
		publisher->gzip = gzip_create(true);
		if (!publisher->gzip)
			error = error_create("out of memory");
	}
	publisher->started = !error;
	return error;
}

/* --- a profile -------------------------------------------------------------------------------- */

/* The snapshot's end in ns since 1970. A recording may know its beginning only to a second. */
static uint64_t publisher_wall_ns(const struct publisher_times *times,
				  const struct pipeline *pipeline, const struct snapshot *snapshot)
{
	uint64_t wall_ns;

	if (!pipeline_is_recording(pipeline))
		return pipeline_wall_ns(pipeline, snapshot->time_ns);
	if (clocks_tell(&snapshot->clocks, CLOCK_UTC, snapshot->time_ns, &wall_ns))
		return wall_ns;
	return pipeline_wall_ns(pipeline, snapshot->time_ns) + snapshot->time_ns - times->first_ns;
}

uint64_t publisher_begin_ns(uint64_t before_ns, uint64_t until_ns, uint64_t length_ns)
{
	uint64_t begin_ns = until_ns - length_ns;
	uint64_t off_ns = before_ns > begin_ns ? before_ns - begin_ns : begin_ns - before_ns;

	return before_ns && off_ns < PUBLISHER_STEP_NS && before_ns < until_ns ? before_ns :
										 begin_ns;
}

static void publisher_set_times(struct publisher_times *times, const struct pipeline *pipeline,
				struct snapshot *snapshot, struct push_profile *profile)
{
	snapshot->started_ns = times->from_ns;
	profile->until_ns = publisher_wall_ns(times, pipeline, snapshot);
	profile->from_ns = publisher_begin_ns(times->until_wall_ns, profile->until_ns,
					      snapshot->time_ns - times->from_ns);
	times->until_wall_ns = profile->until_ns;
}

/* Splits "Linux 6.1.0-37-amd64" into the system and its version. */
static void publisher_set_system(const char *system, struct push_profile *profile)
{
	size_t n = strcspn(system, " ");

	snprintf(profile->os, sizeof(profile->os), "%.*s", (int)n, system);
	snprintf(profile->kernel, sizeof(profile->kernel), "%s",
		 system + n + strspn(system + n, " "));
}

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

static struct xtop_error *publisher_encode(const struct publisher *publisher,
					   const struct pipeline *pipeline,
					   const struct snapshot *snapshot, uint64_t from_ns,
					   char **bytesp, size_t *size_bytesp)
{
	const struct export_settings settings = {
		.filter = publisher->filter,
		.addresses = publisher->options->addresses,
		.domain = pipeline_guest(pipeline)->name,
		.type = pipelines_type_name(pipeline_guest(pipeline)->type),
		.wall_ns = from_ns,
		.brief = true,
		.gzip = publisher->gzip,
		.clock = CLOCK_UTC,
	};
	FILE *file = open_memstream(bytesp, size_bytesp);
	struct xtop_error *error;

	if (!file)
		return error_create_errno(errno, "cannot write a profile");
	error = export_pprof(snapshot, &settings, file);
	if (fclose(file) == EOF && !error)
		error = error_create_errno(errno, "cannot write a profile");
	return error;
}

/*
 * Publishes a profile with source lines. A live guest does not wait for lines: those that are not
 * known yet come with the next interval. A recording has no next interval, so it waits.
 */
static struct xtop_error *publisher_encode_lines(const struct publisher *publisher,
						 const struct pipeline *pipeline,
						 const struct snapshot *snapshot, uint64_t from_ns,
						 char **bytesp, size_t *size_bytesp)
{
	const struct line_expander_settings settings = { .inlined =
								 !publisher->options->no_inline };
	double wait_s = pipeline_is_recording(pipeline) ? LINE_EXPANDER_WAIT_S : 0;
	struct snapshot *with_lines = NULL;
	struct line_expander *expander = NULL;
	struct xtop_error *error = line_expander_create(&settings, &expander);

	if (!error)
		error = line_expander_apply(expander, snapshot, wait_s, &with_lines);
	if (!error)
		error = publisher_encode(publisher, pipeline, with_lines, from_ns, bytesp,
					 size_bytesp);
	snapshot_destroy(with_lines);
	line_expander_destroy(expander);
	return error;
}

static void publisher_report_error(const struct publisher *publisher, struct xtop_error *error)
{
	if (error && publisher->report)
		publisher->report(error_message(error));
	error_destroy(error);
}

static void publisher_push(struct publisher *publisher, struct publisher_times *times,
			   const struct pipeline *pipeline, struct snapshot *snapshot)
{
	const struct guest_info *info = pipeline_guest(pipeline);
	struct push_profile profile = { .waits = snapshot->waits != NULL };
	_cleanup_free_ char *bytes = NULL;
	struct xtop_error *error;
	size_t size_bytes;

	publisher_set_times(times, pipeline, snapshot, &profile);
	publisher_set_system(snapshot->run->system, &profile);
	memcpy(profile.domain, info->name, strnlen(info->name, sizeof(profile.domain) - 1));
	memcpy(profile.uuid, info->uuid, strnlen(info->uuid, sizeof(profile.uuid) - 1));
	error = (publisher->options->lines ? publisher_encode_lines : publisher_encode)(
		publisher, pipeline, snapshot, profile.from_ns, &bytes, &size_bytes);
	if (error) {
		publisher_report_error(publisher, error);
		return;
	}
	push_add(publisher->push, &profile, bytes, size_bytes);
	publisher->pushed++;
}

/* Publishes an interval. An interval without samples is no profile. */
static void publisher_end_interval(struct publisher *publisher, struct publisher_times *times,
				   const struct pipeline *pipeline, struct snapshot *snapshot)
{
	if (publisher->options->push && snapshot->total_weight > 0 && times->from_ns)
		publisher_push(publisher, times, pipeline, snapshot);
	else
		times->until_wall_ns = 0;
	if (times->from_ns)
		times->from_ns = snapshot->time_ns;
}

static void publisher_begin(struct publisher_times *times, const struct snapshot *snapshot)
{
	if (!times->from_ns)
		times->from_ns = times->first_ns = snapshot->started_ns;
}

/* Takes an interval of samples. Frees SNAPSHOT. */
static void publisher_take(struct publisher *publisher, struct publisher_guest *guest,
			   const struct pipeline *pipeline, struct snapshot *snapshot)
{
	struct snapshot *before = no_cleanup_ptr(snapshot->before);

	if (before)
		publisher_take(publisher, guest, pipeline, before);
	publisher_begin(&guest->samples, snapshot);
	publisher_count_losses(guest, snapshot);
	metrics_collector_take(&publisher->collector, (size_t)(guest - publisher->guests),
			       snapshot);
	publisher_end_interval(publisher, &guest->samples, pipeline, snapshot);
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
	publisher_begin(&guest->waits, snapshot);
	metrics_collector_take_waits(&publisher->collector, (size_t)(guest - publisher->guests),
				     snapshot);
	publisher_end_interval(publisher, &guest->waits, pipeline, snapshot);
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
publisher_say(const struct publisher *publisher, const char *format, ...)
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
		publisher_say(publisher, "%s: %s", pipeline_guest(pipeline)->name, note);
	snprintf(guest->note, sizeof(guest->note), "%s", note);
}

/*
 * Whether profiles were refused and the user does not know. A server that refuses all profiles for
 * one reason, such as a collector of another version, is reported once.
 */
static bool publisher_has_refusal(const struct push_status *status, const struct push_status *told)
{
	return status->refused > told->refused &&
	       (!told->refused || !told->failing || status->answer != told->answer);
}

/*
 * Says when sending begins to fail, when profiles are lost, and when sending works again: a line a
 * minute at most, and a line at the end.
 */
static void publisher_report_status(struct publisher *publisher, bool last)
{
	struct push_status status, *told = &publisher->status;
	uint64_t now_ns = clock_now_ns();
	bool worse;

	push_get_status(publisher->push, &status);
	if (!last && publisher->said_ns && now_ns - publisher->said_ns < PUBLISHER_QUIET_NS)
		return;
	worse = (status.failing && !told->failing) || publisher_has_refusal(&status, told) ||
		status.dropped > told->dropped;
	if (worse)
		publisher_say(publisher,
			      "--push: %s (%" PRIu64 " profiles wait, %" PRIu64
			      " were refused, %" PRIu64 " dropped)",
			      status.message[0] ? status.message : "there was no room",
			      status.waiting, status.refused, status.dropped);
	else if (!status.failing && told->failing)
		publisher_say(publisher, "--push: profiles are delivered again");
	if (worse || status.failing != told->failing)
		publisher->said_ns = now_ns;
	*told = status;
}

/* --- the budget of all guests ----------------------------------------------------------------- */

static void publisher_keep_budget(struct publisher *publisher, uint64_t now_ns)
{
	uint64_t others_ns = publisher->status.cpu_ns + publisher->collector.status.cpu_ns;
	char line[HOST_SHARE_LINE_BYTES];

	if (host_share_keep(&publisher->host_budget, publisher->pipelines, others_ns, now_ns, line))
		publisher_say(publisher, "%s", line);
}

/* Tells the service manager the line that `systemctl status` shows. */
static void publisher_notify_status(struct publisher *publisher, uint64_t now_ns)
{
	const struct push_status *status = &publisher->status;
	char news[200], rate[32] = "";
	unsigned n = 0;

	notify_beat(now_ns);
	if (now_ns - publisher->notified_ns < PUBLISHER_STATUS_NS)
		return;
	publisher->notified_ns = now_ns;
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		n += pipelines_get(publisher->pipelines, i) != NULL;
	if (publisher->host_budget.stride > 1)
		snprintf(rate, sizeof(rate), " at %.3g of %.4g Hz",
			 publisher->host_budget.hz / publisher->host_budget.stride,
			 publisher->host_budget.hz);
	snprintf(news, sizeof(news),
		 "STATUS=%u guests%s; profiles: %" PRIu64 " delivered, %" PRIu64 " wait, %" PRIu64
		 " refused, %" PRIu64 " dropped",
		 n, rate, status->sent, status->waiting, status->refused, status->dropped);
	notify_put(news);
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

static void publisher_turn_guest(struct publisher *publisher, struct publisher_guest *guest,
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
	publisher_say(publisher, "%s (dom %u): sampling has ended", pipeline_guest(pipeline)->name,
		      pipeline_guest(pipeline)->domid);
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
		publisher_turn_guest(publisher, &publisher->guests[i], pipeline, now_ns);
		if (!publisher_has_ended(&publisher->guests[i], pipeline))
			more = true;
		else if (all)
			publisher_end_guest(publisher, i);
	}
	if (publisher->push)
		publisher_report_status(publisher, false);
	publisher_keep_budget(publisher, now_ns);
	publisher->collector.host = &publisher->host_budget;
	metrics_collector_turn(&publisher->collector,
			       publisher->options->push ? &publisher->status : NULL, now_ns);
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

	if (publisher->options->push && !push_is_alive(publisher->push))
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
		publisher_say(publisher, "--push: a profile every %g s to %s", options->interval_s,
			      options->push);
	error = publisher_find_guests(publisher);
	if (!error)
		notify_put("READY=1");
	while (!error && !interrupt_came() && clock_now_ns() < end_ns &&
	       publisher_turn(publisher)) {
		publisher_nap(publisher);
		error = publisher_check_processes(publisher);
		if (!error)
			error = publisher_find_guests(publisher);
	}
	notify_put("STOPPING=1");
	return error;
}

void publisher_finish(struct publisher *publisher)
{
	struct push_status *status = &publisher->status;

	metrics_stop(publisher->metrics);
	publisher->metrics = NULL;
	if (!publisher->started || !publisher->options->push)
		return;
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		struct pipeline *pipeline = pipelines_get(publisher->pipelines, i);

		if (pipeline && !pipeline_is_profile(pipeline))
			publisher_take_all(publisher, &publisher->guests[i], pipeline);
	}
	push_finish(publisher->push);
	publisher_report_status(publisher, true);
	publisher_say(publisher,
		      "--push: %" PRIu64 " profiles: %" PRIu64 " delivered (%" PRIu64
		      " bytes), %" PRIu64 " wait, %" PRIu64 " refused, %" PRIu64 " dropped",
		      publisher->pushed, status->sent, status->sent_bytes, status->waiting,
		      status->refused, status->dropped);
}
