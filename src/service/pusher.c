/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of intervals on their way to the sender; see pusher.h. */
#include "config.h"

#include "xtop/service/pusher.h"

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
#include "xtop/query/lined.h"

#define PUSHER_NAP_NS  250000000 /* between turns over all guests */
#define PUSHER_NAPS    20        /* of an interval at least */
#define PUSHER_LEAST_NAP_NS 10000000
#define PUSHER_WAKES_NS 4000000000 /* a resolver may sleep through the end of a shorter interval */
#define PUSHER_STEP_NS 1000000000ULL /* a clock that is off by more was set, not slewed */
#define PUSHER_QUIET_NS 60000000000ULL /* between lines on what becomes of profiles */
#define PUSHER_STATUS_NS 5000000000ULL /* between two states for the service manager */

/* --- the start -------------------------------------------------------------------------------- */

struct xtop_error *pusher_start(struct pusher *pusher, const char *cache)
{
	const struct options *options = pusher->options;
	struct utsname name;
	struct xtop_error *error = NULL;

	if (uname(&name) == 0)
		snprintf(pusher->host, sizeof(pusher->host), "%s", name.nodename);
	pusher->settings = (struct push_settings){
		.url = options->push,
		.config = options->push_config,
		.labels = options->labels,
		.n_labels = options->n_labels,
		.host = pusher->host,
		.xen = pusher->xen + (strncmp(pusher->xen, "Xen ", 4) == 0 ? 4 : 0),
		.cache = cache,
		.hz = options->freq_hz,
	};
	pusher->host_budget.limit = options->host_budget;
	pusher->host_budget.hz = options->freq_hz;
	pusher->meter.options = options;
	pusher->meter.pipelines = pusher->pipelines;
	pusher->meter.report = pusher->report;
	pusher->meter.xen = pusher->settings.xen;
	if (options->metrics)
		error = metrics_start(options->metrics);
	if (!error && options->push)
		error = push_start(&pusher->settings);
	if (!error && options->push) {
		pusher->gzip = gzip_create(true);
		if (!pusher->gzip)
			error = error_create("out of memory");
	}
	pusher->started = !error;
	return error;
}

/* --- a profile -------------------------------------------------------------------------------- */

/* In ns since 1970. A recording that does not tell began at a whole second. */
static uint64_t pusher_wall_ns(const struct pusher_times *times, const struct pipeline *pipeline,
			       const struct snapshot *snapshot)
{
	uint64_t wall_ns;

	if (!pipeline_is_recording(pipeline))
		return pipeline_wall_ns(pipeline, snapshot->time_ns);
	if (clocks_tell(&snapshot->clocks, CLOCK_UTC, snapshot->time_ns, &wall_ns))
		return wall_ns;
	return pipeline_wall_ns(pipeline, snapshot->time_ns) + snapshot->time_ns - times->first_ns;
}

uint64_t pusher_begin_ns(uint64_t before_ns, uint64_t until_ns, uint64_t length_ns)
{
	uint64_t begin_ns = until_ns - length_ns;
	uint64_t off_ns = before_ns > begin_ns ? before_ns - begin_ns : begin_ns - before_ns;

	return before_ns && off_ns < PUSHER_STEP_NS && before_ns < until_ns ? before_ns : begin_ns;
}

static void pusher_set_times(struct pusher_times *times, const struct pipeline *pipeline,
			     struct snapshot *snapshot, struct push_profile *profile)
{
	snapshot->started_ns = times->from_ns;
	profile->until_ns = pusher_wall_ns(times, pipeline, snapshot);
	profile->from_ns = pusher_begin_ns(times->until_wall_ns, profile->until_ns,
					   snapshot->time_ns - times->from_ns);
	times->until_wall_ns = profile->until_ns;
}

/* "Linux 6.1.0-37-amd64": the system and its version. */
static void pusher_set_system(const char *system, struct push_profile *profile)
{
	size_t n = strcspn(system, " ");

	snprintf(profile->os, sizeof(profile->os), "%.*s", (int)n, system);
	snprintf(profile->kernel, sizeof(profile->kernel), "%s",
		 system + n + strspn(system + n, " "));
}

/* The sampler counts since its start; the notes of a profile are about its interval. */
static void pusher_count_losses(struct pusher_guest *guest, struct snapshot *snapshot)
{
	uint64_t lost = snapshot->sampler.lost, refused = snapshot->sampler.refused;

	snapshot->sampler.lost = lost < guest->lost ? lost : lost - guest->lost;
	snapshot->sampler.refused = refused < guest->refused ? refused : refused - guest->refused;
	guest->lost = lost;
	guest->refused = refused;
}

static struct xtop_error *pusher_encode(const struct pusher *pusher,
					const struct pipeline *pipeline,
					const struct snapshot *snapshot, uint64_t from_ns,
					char **bytesp, size_t *size_bytesp)
{
	const struct export_settings settings = {
		.filter = pusher->filter,
		.addresses = pusher->options->addresses,
		.domain = pipeline_guest(pipeline)->name,
		.type = pipelines_type_name(pipeline_guest(pipeline)->type),
		.wall_ns = from_ns,
		.brief = true,
		.gzip = pusher->gzip,
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
 * The same with source lines. A live guest does not wait for them: lines that are not known yet
 * come with the next interval. A recording has no next one.
 */
static struct xtop_error *pusher_encode_lines(const struct pusher *pusher,
					      const struct pipeline *pipeline,
					      const struct snapshot *snapshot, uint64_t from_ns,
					      char **bytesp, size_t *size_bytesp)
{
	const struct lined_settings settings = { .inlined = !pusher->options->no_inline };
	double wait_s = pipeline_is_recording(pipeline) ? LINED_WAIT_S : 0;
	struct snapshot *with_lines = NULL;
	struct lined *lined = NULL;
	struct xtop_error *error = lined_create(&settings, &lined);

	if (!error)
		error = lined_apply(lined, snapshot, wait_s, &with_lines);
	if (!error)
		error = pusher_encode(pusher, pipeline, with_lines, from_ns, bytesp, size_bytesp);
	snapshot_destroy(with_lines);
	lined_destroy(lined);
	return error;
}

static void pusher_report_error(const struct pusher *pusher, struct xtop_error *error)
{
	if (error && pusher->report)
		pusher->report(error_message(error));
	error_destroy(error);
}

static void pusher_push(struct pusher *pusher, struct pusher_times *times,
			const struct pipeline *pipeline, struct snapshot *snapshot)
{
	const struct guest_info *info = pipeline_guest(pipeline);
	struct push_profile profile = { .waits = snapshot->waits.there };
	_cleanup_free_ char *bytes = NULL;
	struct xtop_error *error;
	size_t size_bytes;

	pusher_set_times(times, pipeline, snapshot, &profile);
	pusher_set_system(snapshot->system, &profile);
	memcpy(profile.domain, info->name, strnlen(info->name, sizeof(profile.domain) - 1));
	memcpy(profile.uuid, info->uuid, strnlen(info->uuid, sizeof(profile.uuid) - 1));
	error = (pusher->options->lines ? pusher_encode_lines : pusher_encode)(
		pusher, pipeline, snapshot, profile.from_ns, &bytes, &size_bytes);
	if (error) {
		pusher_report_error(pusher, error);
		return;
	}
	push_add(&profile, bytes, size_bytes);
	pusher->pushed++;
}

/* An interval without samples is no profile: a store has nothing to keep of it. */
static void pusher_end_interval(struct pusher *pusher, struct pusher_times *times,
				const struct pipeline *pipeline, struct snapshot *snapshot)
{
	if (pusher->options->push && snapshot->total_weight > 0 && times->from_ns)
		pusher_push(pusher, times, pipeline, snapshot);
	else
		times->until_wall_ns = 0;
	if (times->from_ns)
		times->from_ns = snapshot->time_ns;
}

static void pusher_begin(struct pusher_times *times, const struct snapshot *snapshot)
{
	if (!times->from_ns)
		times->from_ns = times->first_ns = snapshot->started_ns;
}

/* Frees SNAPSHOT. */
static void pusher_take(struct pusher *pusher, struct pusher_guest *guest,
			const struct pipeline *pipeline, struct snapshot *snapshot)
{
	struct snapshot *before = no_cleanup_ptr(snapshot->before);

	if (before)
		pusher_take(pusher, guest, pipeline, before);
	pusher_begin(&guest->samples, snapshot);
	pusher_count_losses(guest, snapshot);
	meter_take(&pusher->meter, (size_t)(guest - pusher->guests), snapshot);
	pusher_end_interval(pusher, &guest->samples, pipeline, snapshot);
	guest->ended |= snapshot->at_end;
	snapshot_destroy(snapshot);
}

/* The same of tasks that wait. Their profile is one of its own, in milliseconds. */
static void pusher_take_waits(struct pusher *pusher, struct pusher_guest *guest,
			      const struct pipeline *pipeline, struct snapshot *snapshot)
{
	struct snapshot *before = no_cleanup_ptr(snapshot->before);

	if (before)
		pusher_take_waits(pusher, guest, pipeline, before);
	pusher_begin(&guest->waits, snapshot);
	meter_take_waits(&pusher->meter, (size_t)(guest - pusher->guests), snapshot);
	pusher_end_interval(pusher, &guest->waits, pipeline, snapshot);
	snapshot_destroy(snapshot);
}

/* With --push; the meter looks at waits itself if there is no --push. */
static bool pusher_has_waits(const struct pusher *pusher, const struct pipeline *pipeline)
{
	return pusher->options->push && pusher->options->waits_hz > 0 &&
	       pipeline_waits_slot(pipeline);
}

/* What is there of GUEST. */
static void pusher_take_all(struct pusher *pusher, struct pusher_guest *guest,
			    const struct pipeline *pipeline)
{
	struct snapshot *snapshot;

	if (pusher_has_waits(pusher, pipeline)) {
		snapshot = snapshot_take(pipeline_waits_slot(pipeline));
		if (snapshot)
			pusher_take_waits(pusher, guest, pipeline, snapshot);
	}
	snapshot = snapshot_take(pipeline_slot(pipeline));
	if (!snapshot)
		return;
	guest->asked = false;
	pusher_take(pusher, guest, pipeline, snapshot);
}

/* --- lines for the user ----------------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
pusher_say(const struct pusher *pusher, const char *format, ...)
{
	char line[512], clean[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	text_clean_line(clean, sizeof(clean), line, strlen(line));
	if (pusher->report)
		pusher->report(clean);
}

static void pusher_report_guest(struct pusher *pusher, struct pusher_guest *guest,
				struct pipeline *pipeline)
{
	const char *note = pipeline_get_message(pipeline);

	if (*note && strcmp(note, guest->note) != 0)
		pusher_say(pusher, "%s: %s", pipeline_guest(pipeline)->name, note);
	snprintf(guest->note, sizeof(guest->note), "%s", note);
}

/*
 * Whether profiles were refused, and the user does not know. A server that refuses all for the same
 * reason, such as a collector of another version, is reported once.
 */
static bool pusher_has_refusal(const struct push_status *status, const struct push_status *told)
{
	return status->refused > told->refused &&
	       (!told->refused || !told->failing || status->answer != told->answer);
}

/*
 * Says when sending begins to fail, when profiles are lost, and when it works again: a line a
 * minute at most, and one at the end.
 */
static void pusher_report_status(struct pusher *pusher, bool last)
{
	struct push_status status, *told = &pusher->status;
	uint64_t now_ns = clock_now_ns();
	bool worse;

	push_get_status(&status);
	if (!last && pusher->said_ns && now_ns - pusher->said_ns < PUSHER_QUIET_NS)
		return;
	worse = (status.failing && !told->failing) || pusher_has_refusal(&status, told) ||
		status.dropped > told->dropped;
	if (worse)
		pusher_say(pusher,
			   "--push: %s (%" PRIu64 " profiles wait, %" PRIu64
			   " were refused, %" PRIu64 " dropped)",
			   status.message[0] ? status.message : "there was no room", status.waiting,
			   status.refused, status.dropped);
	else if (!status.failing && told->failing)
		pusher_say(pusher, "--push: profiles are delivered again");
	if (worse || status.failing != told->failing)
		pusher->said_ns = now_ns;
	*told = status;
}

/* --- the budget of all guests ----------------------------------------------------------------- */

static void pusher_keep_budget(struct pusher *pusher, uint64_t now_ns)
{
	uint64_t others_ns = pusher->status.cpu_ns + pusher->meter.status.cpu_ns;
	char line[HOST_SHARE_LINE_BYTES];

	if (host_share_keep(&pusher->host_budget, pusher->pipelines, others_ns, now_ns, line))
		pusher_say(pusher, "%s", line);
}

/* What systemctl status shows. */
static void pusher_notify_status(struct pusher *pusher, uint64_t now_ns)
{
	const struct push_status *status = &pusher->status;
	char news[200], rate[32] = "";
	unsigned n = 0;

	notify_beat(now_ns);
	if (now_ns - pusher->notified_ns < PUSHER_STATUS_NS)
		return;
	pusher->notified_ns = now_ns;
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++)
		n += pipelines_get(pusher->pipelines, i) != NULL;
	if (pusher->host_budget.stride > 1)
		snprintf(rate, sizeof(rate), " at %.3g of %.4g Hz",
			 pusher->host_budget.hz / pusher->host_budget.stride,
			 pusher->host_budget.hz);
	snprintf(news, sizeof(news),
		 "STATUS=%u guests%s; profiles: %" PRIu64 " delivered, %" PRIu64 " wait, %" PRIu64
		 " refused, %" PRIu64 " dropped",
		 n, rate, status->sent, status->waiting, status->refused, status->dropped);
	notify_put(news);
}

/* --- the run ---------------------------------------------------------------------------------- */

static bool pusher_has_ended(const struct pusher_guest *guest, const struct pipeline *pipeline)
{
	struct sampler_counts counts;

	control_get_counts(pipeline_control(pipeline), &counts);
	return guest->ended || counts.state == SAMPLER_GUEST_GONE || counts.state == SAMPLER_FAILED;
}

/*
 * Tells the resolver when the next interval ends. That is long before: so an interval is as long as
 * it should be even if main or the resolver are busy then. An end that was missed, because this
 * process stood still, is not made up for.
 */
static void pusher_ask(const struct pusher *pusher, struct pusher_guest *guest,
		       struct pipeline *pipeline, uint64_t now_ns)
{
	uint64_t interval_ns = (uint64_t)(pusher->options->interval_s * 1e9);
	bool waits = guest->due_ns && pusher_has_waits(pusher, pipeline);

	if (!guest->due_ns) /* other guests may have been started since */
		guest->due_ns = pipeline_started_ns(pipeline);
	guest->due_ns += (1 + (now_ns - guest->due_ns) / interval_ns) * interval_ns;
	snapshot_request_until(pipeline_slot(pipeline), guest->due_ns);
	guest->asked = true;
	if (waits)
		snapshot_request(pipeline_waits_slot(pipeline));
	if (waits || interval_ns < PUSHER_WAKES_NS)
		pipeline_wake(pipeline);
}

static void pusher_turn_guest(struct pusher *pusher, struct pusher_guest *guest,
			      struct pipeline *pipeline, uint64_t now_ns)
{
	pusher_report_guest(pusher, guest, pipeline);
	pusher_take_all(pusher, guest, pipeline);
	if (!guest->asked)
		pusher_ask(pusher, guest, pipeline, now_ns);
}

/* A guest of --all is gone: its last interval goes out, and its place is free. */
static void pusher_end_guest(struct pusher *pusher, size_t i)
{
	struct pipeline *pipeline = pipelines_get(pusher->pipelines, i);

	pusher_report_error(pusher, pipelines_stop_guest_at(pusher->pipelines, i));
	pusher_take_all(pusher, &pusher->guests[i], pipeline);
	pusher_report_error(pusher, pipeline_get_failure(pipeline));
	pusher_say(pusher, "%s (dom %u): sampling has ended", pipeline_guest(pipeline)->name,
		   pipeline_guest(pipeline)->domid);
	pipelines_remove_at(pusher->pipelines, i);
	pusher->guests[i] = (struct pusher_guest){ .due_ns = 0 };
	meter_forget(&pusher->meter, i);
}

/* False: all guests have ended, and no other one is to come. */
static bool pusher_turn(struct pusher *pusher)
{
	bool all = pusher->options->all, more = all;
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		struct pipeline *pipeline = pipelines_get(pusher->pipelines, i);

		if (!pipeline)
			continue;
		pusher_turn_guest(pusher, &pusher->guests[i], pipeline, now_ns);
		if (!pusher_has_ended(&pusher->guests[i], pipeline))
			more = true;
		else if (all)
			pusher_end_guest(pusher, i);
	}
	pusher_report_status(pusher, false);
	pusher_keep_budget(pusher, now_ns);
	pusher->meter.host = &pusher->host_budget;
	meter_turn(&pusher->meter, pusher->options->push ? &pusher->status : NULL, now_ns);
	pusher_notify_status(pusher, now_ns);
	return more;
}

static struct xtop_error *pusher_find_guests(struct pusher *pusher)
{
	if (!pusher->options->all)
		return NULL;
	return all_guests_poll(&pusher->all, pusher->options, pusher->pipelines, pusher->report);
}

/* The processes that hand on what is found: without rights main cannot start them again. */
static struct xtop_error *pusher_check_processes(const struct pusher *pusher)
{
	struct metrics_status status;

	if (pusher->options->push && !push_is_alive())
		return error_create("the process that sends profiles was killed");
	if (pusher->options->metrics && !metrics_is_alive()) {
		metrics_get_status(&status);
		return status.failing ? error_create("--metrics: %s", status.message)
				      : error_create("the process that serves metrics was killed");
	}
	return NULL;
}

static void pusher_nap(const struct pusher *pusher)
{
	double nap_ns = pusher->options->interval_s * 1e9 / PUSHER_NAPS;

	nap_ns = nap_ns < PUSHER_NAP_NS ? nap_ns : PUSHER_NAP_NS;
	nap_ns = nap_ns > PUSHER_LEAST_NAP_NS ? nap_ns : PUSHER_LEAST_NAP_NS;
	nanosleep(&(struct timespec){ .tv_nsec = (long)nap_ns }, NULL);
}

struct xtop_error *pusher_run(struct pusher *pusher)
{
	const struct options *options = pusher->options;
	uint64_t end_ns = options->time_s > 0 ? clock_now_ns() + (uint64_t)(options->time_s * 1e9)
					      : UINT64_MAX;
	struct xtop_error *error;

	interrupt_catch();
	if (options->replay && pipeline_is_profile(pipelines_first(pusher->pipelines)))
		return error_create("--push and --metrics: '%s' is a profile already: "
				    "a recording or a guest has samples",
				    options->replay);
	if (options->push)
		pusher_say(pusher, "--push: a profile every %g s to %s", options->interval_s,
			   options->push);
	error = pusher_find_guests(pusher);
	if (!error)
		notify_put("READY=1");
	while (!error && !interrupt_came() && clock_now_ns() < end_ns && pusher_turn(pusher)) {
		pusher_nap(pusher);
		error = pusher_check_processes(pusher);
		if (!error)
			error = pusher_find_guests(pusher);
	}
	notify_put("STOPPING=1");
	return error;
}

void pusher_finish(struct pusher *pusher)
{
	struct push_status *status = &pusher->status;

	metrics_stop();
	if (!pusher->started || !pusher->options->push)
		return;
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		struct pipeline *pipeline = pipelines_get(pusher->pipelines, i);

		if (pipeline && !pipeline_is_profile(pipeline))
			pusher_take_all(pusher, &pusher->guests[i], pipeline);
	}
	push_finish();
	pusher_report_status(pusher, true);
	pusher_say(pusher,
		   "--push: %" PRIu64 " profiles: %" PRIu64 " delivered (%" PRIu64
		   " bytes), %" PRIu64 " wait, %" PRIu64 " refused, %" PRIu64 " dropped",
		   pusher->pushed, status->sent, status->sent_bytes, status->waiting,
		   status->refused, status->dropped);
}
