/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes on when sampling of a guest has ended; see reattach.h. */
#include "config.h"

#include "pipeline/reattach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "xtop/base/clock.h"
#include "xtop/base/text.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"
#include "xtop/sample/sampler.h"
#include "xtop/supervise/broker.h"

/*
 * How often, and at which interval, the reattacher looks whether guard, sampler or keeper wrote how
 * they ended.
 */
#define REATTACH_STATE_NS    100000000ULL
#define REATTACH_STATE_TRIES 10
#define REATTACH_START_NS    10000000ULL /* time between looks whether the sampler has started */
#define REATTACH_NOTE_NS     15000000000ULL
/*
 * A hang of guard and sampler stops the guest for REATTACH_HANG_NS. The pause before the next
 * sampler is so long that this stop is within the budget, but at most REATTACH_REST_MAX_NS.
 */
#define REATTACH_HANG_NS     80000000ULL
#define REATTACH_REST_MAX_NS 10000000000ULL
/* How often, and at which interval, settings.check is called after the guest has come back. */
#define REATTACH_CHECKS   20
#define REATTACH_CHECK_NS 1000000000ULL

/* --- life of a reattacher, and what other threads see ----------------------------------------- */

struct xtop_error *reattach_init(struct reattacher *reattacher,
				 const struct reattach_settings *settings,
				 struct attached_guest *guest)
{
	*reattacher =
		(struct reattacher){ .settings = *settings, .guest = guest, .info = guest->info };
	if (pipe2(reattacher->wake, O_CLOEXEC) < 0)
		return error_create_errno(errno, "cannot create a pipe");
	pthread_mutex_init(&reattacher->lock, NULL);
	return NULL;
}

void reattach_quit(struct reattacher *reattacher)
{
	close(reattacher->wake[1]);
	reattacher->wake[1] = -1;
}

void reattach_deinit(struct reattacher *reattacher)
{
	close(reattacher->wake[0]);
	if (reattacher->wake[1] >= 0)
		close(reattacher->wake[1]);
	pthread_mutex_destroy(&reattacher->lock);
}

void reattach_get_status(struct reattacher *reattacher, struct guest_info *info,
			 char note[REATTACH_NOTE_BYTES])
{
	pthread_mutex_lock(&reattacher->lock);
	if (reattacher->note_until_ns && clock_now_ns() > reattacher->note_until_ns)
		reattacher->note[0] = '\0';
	*info = reattacher->info;
	memcpy(note, reattacher->note, REATTACH_NOTE_BYTES);
	pthread_mutex_unlock(&reattacher->lock);
}

static void reattach_set_note(struct reattacher *reattacher, const char *note, uint64_t until_ns)
{
	pthread_mutex_lock(&reattacher->lock);
	reattacher->info = reattacher->guest->info;
	text_clean(reattacher->note, sizeof(reattacher->note), note, strlen(note));
	reattacher->note_until_ns = until_ns;
	pthread_mutex_unlock(&reattacher->lock);
}

/* Sleeps for NS. Returns true at once if the thread is to quit. */
static bool reattach_nap(const struct reattacher *reattacher, uint64_t ns)
{
	struct pollfd quit = { .fd = reattacher->wake[0], .events = POLLIN };

	return poll(&quit, 1, (int)(ns / 1000000)) > 0;
}

/* --- the end of a sampler --------------------------------------------------------------------- */

static struct sampler_counts reattach_get_counts(const struct reattacher *reattacher)
{
	struct sampler_counts counts;

	control_get_counts(reattacher->settings.control, &counts);
	return counts;
}

static bool reattach_has_ended(const struct reattacher *reattacher)
{
	return reattach_get_counts(reattacher).state > SAMPLER_GUEST_PAUSED;
}

static void reattach_fail(struct reattacher *reattacher, const char *message)
{
	control_set_message(reattacher->settings.control, message);
	control_set_state(reattacher->settings.control, SAMPLER_FAILED);
}

/*
 * Waits until guard, sampler or keeper have written how they ended. If all were killed, nobody is
 * left to do so, and this thread writes the state in their place. False: the thread is to quit.
 */
static bool reattach_wait_state(struct reattacher *reattacher)
{
	for (unsigned i = 0; i < REATTACH_STATE_TRIES && !reattach_has_ended(reattacher); i++)
		if (reattach_nap(reattacher, REATTACH_STATE_NS))
			return false;
	if (!reattach_has_ended(reattacher))
		reattach_fail(reattacher, "xtop's other processes were killed; does the guest run? "
					  "see xtop --unpause");
	return true;
}

/* The argument and the result of a check on the resolver's thread. */
struct reattach_check {
	struct reattacher *reattacher;
	struct xtop_error *error;
};

static void reattach_run_check(void *context)
{
	struct reattach_check *check = context;
	const struct reattach_settings *settings = &check->reattacher->settings;

	memory_refresh(check->reattacher->guest->memory);
	check->error = settings->check(settings->context);
}

static void reattach_check(struct reattacher *reattacher)
{
	struct reattach_check check = { .reattacher = reattacher };

	reattacher->checks--;
	resolver_call(reattacher->settings.resolver, reattach_run_check, &check);
	if (!check.error)
		return;
	guard_stop(&reattacher->guest->process, reattacher->settings.control);
	reattacher->guest->started = false;
	reattach_fail(reattacher, error_message(check.error));
	error_destroy(check.error);
}

/* Sleeps until the keeper has ended. False: the thread is to quit, or a check has failed. */
static bool reattach_wait_guard(struct reattacher *reattacher)
{
	struct pollfd fds[] = {
		{ .fd = reattacher->wake[0], .events = POLLIN },
		{ .fd = reattacher->guest->process.end_fd, .events = POLLIN },
	};

	while (reattacher->guest->started) {
		int wait_ms = reattacher->checks ? (int)(REATTACH_CHECK_NS / 1000000) : -1;
		int ready = poll(fds, 2, wait_ms);

		if (ready > 0)
			return !fds[0].revents;
		if (ready == 0 && !reattach_has_ended(reattacher))
			reattach_check(reattacher);
	}
	return false;
}

/* --- looking for the guest -------------------------------------------------------------------- */

static const char *reattach_describe_end(enum guest_end end)
{
	switch (end) {
	case GUEST_END_UNKNOWN:
		break;
	case GUEST_END_POWEROFF:
		return "has shut down";
	case GUEST_END_REBOOT:
		return "reboots";
	case GUEST_END_SUSPEND:
		return "is suspended";
	case GUEST_END_CRASH:
		return "has crashed";
	}
	return "is gone";
}

/*
 * Notes that the guest went away. The note speaks of waiting only if the guest is likely to return.
 */
static void reattach_report_away(struct reattacher *reattacher, enum guest_end end)
{
	bool waits = end > GUEST_END_POWEROFF ||
		     (end == GUEST_END_UNKNOWN && reattacher->settings.bound_ns);
	char note[REATTACH_NOTE_BYTES];

	snprintf(note, sizeof(note), "%.63s %s%s", reattacher->guest->info.name,
		 reattach_describe_end(end), waits ? ", waiting for its return" : "");
	reattach_set_note(reattacher, note, 0);
}

static void reattach_report_back(struct reattacher *reattacher)
{
	uint64_t now_ns = clock_now_ns();
	char note[REATTACH_NOTE_BYTES];

	snprintf(note, sizeof(note), "%.63s is back as domain %u after %.0f s, the profile goes on",
		 reattacher->guest->info.name, reattacher->guest->info.domid,
		 (double)(now_ns - reattacher->away_ns) / 1e9);
	reattach_set_note(reattacher, note, now_ns + REATTACH_NOTE_NS);
}

/* Time between looks for the guest. A look asks for all domains, which takes dom0 milliseconds. */
static uint64_t reattach_interval_ns(uint64_t away_ns)
{
	if (away_ns < 30000000000ULL)
		return 250000000;
	return away_ns < 300000000000ULL ? 1000000000 : 5000000000;
}

static bool reattach_find(const struct reattacher *reattacher, struct guest_info *info)
{
	struct xtop_error *error = guest_find(reattacher->guest->info.uuid, info);

	if (error && reattacher->settings.name && reattacher->settings.name[0]) {
		error_destroy(error);
		error = guest_find(reattacher->settings.name, info);
	}
	error_destroy(error);
	return !error && !info->crashed;
}

/* Whether `xl migrate` still copies the guest's memory: the name then ends in "--incoming". */
static bool reattach_is_incoming(const struct guest_info *info)
{
	static const char incoming[] = "--incoming";
	size_t length = strlen(info->name);

	return length >= strlen(incoming) &&
	       strcmp(info->name + length - strlen(incoming), incoming) == 0;
}

/*
 * Finds the guest's domain once it is whole. While a domain is built it gets its vCPUs one by one.
 * It is whole when two looks in a row find it with equal numbers of vCPUs.
 */
static bool reattach_find_whole(const struct reattacher *reattacher, struct guest_info *info)
{
	struct guest_info before = *info;

	if (!reattach_find(reattacher, info) || reattach_is_incoming(info)) {
		*info = (struct guest_info){ 0 };
		return false;
	}
	return info->domid == before.domid && info->n_vcpus == before.n_vcpus &&
	       info->type == before.type;
}

/* --- switching to the domain that was found --------------------------------------------------- */

/* The argument of a switch on the resolver's thread. */
struct reattach_exchange {
	struct reattacher *reattacher;
	struct attached_guest next;
};

static void reattach_switch_stages(void *context)
{
	struct reattach_exchange *exchange = context;
	const struct reattach_settings *settings = &exchange->reattacher->settings;
	struct attached_guest *next = &exchange->next;

	/* The ring comes first: the old guest's tables name the samples that are still in it. */
	resolver_switch_guest(settings->resolver, next->ring, next->info.n_vcpus);
	os_switch(settings->os, next->memory, next->info.type, next->info.uuid);
}

/* Opens the memory of NEXT's domain, and another ring if the present one is too small for it. */
static struct xtop_error *reattach_open(const struct reattacher *reattacher,
					struct attached_guest *next)
{
	struct ring *ring = reattacher->guest->ring;
	size_t size_bytes = sampler_ring_bytes(next->info.n_vcpus,
					       control_get_rate(reattacher->settings.control));
	struct xtop_error *error;

	error = guest_open_memory(next->info.domid, &next->memory);
	if (error)
		return error;
	next->ring = ring;
	if (size_bytes > ring_size_bytes(ring))
		error = ring_create(size_bytes, &next->ring);
	if (error)
		memory_destroy(next->memory);
	return error;
}

static void reattach_switch_guest(struct reattacher *reattacher, const struct attached_guest *next)
{
	struct reattach_exchange exchange = { .reattacher = reattacher, .next = *next };
	struct attached_guest before = *reattacher->guest;

	resolver_call(reattacher->settings.resolver, reattach_switch_stages, &exchange);
	takers_source_switch(reattacher->settings.takers, next->info.domid);
	trace_source_switch(reattacher->settings.trace, next->info.domid);
	memory_destroy(before.memory);
	if (before.ring != next->ring)
		ring_destroy(before.ring);
	*reattacher->guest = *next;
}

static struct xtop_error *reattach_start_guard(struct reattacher *reattacher)
{
	struct control *control = reattacher->settings.control;
	struct attached_guest *guest = reattacher->guest;
	struct xtop_error *error;

	control_restart(control);
	error = guard_start(&guest->info, control, guest->ring, &guest->process);
	if (error) {
		control_set_state(control, SAMPLER_GUEST_AWAY);
		return error;
	}
	guest->started = true;
	while (reattach_get_counts(reattacher).state == SAMPLER_STARTING &&
	       guard_is_alive(&guest->process) && !reattach_nap(reattacher, REATTACH_START_NS))
		;
	return NULL;
}

/* Goes on with the domain INFO. False: the guest is gone again, or Xen refused. */
static bool reattach_switch(struct reattacher *reattacher, const struct guest_info *info)
{
	struct attached_guest next = { .info = *info, .process = { .end_fd = -1 } };
	struct xtop_error *error;

	error = reattach_open(reattacher, &next);
	if (!error) {
		reattach_switch_guest(reattacher, &next);
		error = reattach_start_guard(reattacher);
	}
	if (error) {
		reattach_set_note(reattacher, error_message(error), 0);
		error_destroy(error);
		return false;
	}
	reattacher->checks = reattacher->settings.check ? REATTACH_CHECKS : 0;
	reattach_report_back(reattacher);
	return true;
}

static bool reattach_gives_up(const struct reattacher *reattacher, enum guest_end end)
{
	return reattacher->settings.bound_ns &&
	       (end == GUEST_END_POWEROFF ||
		clock_now_ns() - reattacher->away_ns > reattacher->settings.bound_ns);
}

/*
 * Waits for the guest. True: the guest is back and sampled. False: the guest stays away, or
 * sampling failed.
 */
static bool reattach_wait_guest(struct reattacher *reattacher)
{
	struct sampler_counts counts = reattach_get_counts(reattacher);
	enum guest_end end = control_get_ending(&counts);
	struct guest_info info = { 0 };

	if (!reattacher->settings.ends)
		reattach_report_away(reattacher, end);
	while (!reattacher->settings.ends && !reattach_gives_up(reattacher, end)) {
		if (reattach_nap(reattacher,
				 reattach_interval_ns(clock_now_ns() - reattacher->away_ns)))
			break;
		if (!broker_is_alive()) {
			reattach_fail(reattacher, "xtop's broker was killed, or does not answer");
			return false;
		}
		if (reattach_find_whole(reattacher, &info) && reattach_switch(reattacher, &info))
			return true;
	}
	return false;
}

/* --- a hang ----------------------------------------------------------------------------------- */

static uint64_t reattach_rest_ns(const struct reattacher *reattacher)
{
	double rest_ns = REATTACH_HANG_NS / control_get_budget(reattacher->settings.control);

	return rest_ns < REATTACH_REST_MAX_NS ? (uint64_t)rest_ns : REATTACH_REST_MAX_NS;
}

/*
 * Starts guard and sampler anew after both hung. All processes are dead, so this thread may write
 * the counters. False: there were too many restarts, or the thread is to quit.
 */
static bool reattach_restart(struct reattacher *reattacher)
{
	struct sampler_counts counts = reattach_get_counts(reattacher);
	struct xtop_error *error;

	if (!restarts_allow(&reattacher->restarts, clock_now_ns())) {
		reattach_fail(reattacher,
			      "sampler and guard hung while the guest stood still and were "
			      "killed; the guest runs");
		return false;
	}
	counts.restarts++;
	control_set_counts(reattacher->settings.control, &counts);
	if (reattach_nap(reattacher, reattach_rest_ns(reattacher))) {
		control_set_state(reattacher->settings.control, SAMPLER_ENDED);
		return false;
	}
	error = reattach_start_guard(reattacher);
	if (error)
		reattach_fail(reattacher, error_message(error));
	error_destroy(error);
	return !error;
}

void reattach_run(struct reattacher *reattacher)
{
	bool goes_on = true;

	while (goes_on && reattach_wait_guard(reattacher) && reattach_wait_state(reattacher)) {
		enum sampler_state state = reattach_get_counts(reattacher).state;

		if (state != SAMPLER_GUEST_AWAY && state != SAMPLER_HUNG)
			break;
		reattacher->away_ns = clock_now_ns();
		reattacher->checks = 0;
		guard_stop(&reattacher->guest->process, reattacher->settings.control);
		reattacher->guest->started = false;
		goes_on = state == SAMPLER_HUNG ? reattach_restart(reattacher)
						: reattach_wait_guest(reattacher);
	}
	if (reattach_get_counts(reattacher).state == SAMPLER_GUEST_AWAY)
		control_set_state(reattacher->settings.control, SAMPLER_GUEST_GONE);
}
