/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fate of a guest; see follow.h. */
#include "config.h"

#include "follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "xtop/broker.h"
#include "xtop/clock.h"
#include "xtop/control.h"
#include "xtop/frames.h"
#include "xtop/ring.h"
#include "xtop/sampler.h"
#include "xtop/text.h"

#define FOLLOW_END_NS    100000000ULL /* for who may still have something to say, */
#define FOLLOW_END_TRIES 10           /* so often */
#define FOLLOW_START_NS  10000000ULL  /* between looks whether the sampler has started */
#define FOLLOW_NOTE_NS   15000000000ULL
/* A hang of both lasts that long; the guest gets its time back first, and waits at most so long for us. */
#define FOLLOW_HANG_NS     80000000ULL
#define FOLLOW_REST_MAX_NS 10000000000ULL
/* Whether it runs what its symbols are of: looked at so often, until its kernel is there. */
#define FOLLOW_CHECKS   20
#define FOLLOW_CHECK_NS 1000000000ULL

/* --- its life, and what others see of it ------------------------------------------------------ */

struct xtop_error *follow_init(struct follower *follower, const struct follow_settings *settings,
			       struct follow_guest *guest)
{
	*follower = (struct follower){ .settings = *settings, .guest = guest, .info = guest->info };
	if (pipe2(follower->wake, O_CLOEXEC) < 0)
		return error_create_errno(errno, "cannot create a pipe");
	pthread_mutex_init(&follower->lock, NULL);
	return NULL;
}

void follow_quit(struct follower *follower)
{
	close(follower->wake[1]);
	follower->wake[1] = -1;
}

void follow_deinit(struct follower *follower)
{
	close(follower->wake[0]);
	if (follower->wake[1] >= 0)
		close(follower->wake[1]);
	pthread_mutex_destroy(&follower->lock);
}

void follow_look(struct follower *follower, struct guest_info *info, char note[FOLLOW_NOTE_BYTES])
{
	pthread_mutex_lock(&follower->lock);
	if (follower->note_until_ns && clock_now_ns() > follower->note_until_ns)
		follower->note[0] = '\0';
	*info = follower->info;
	memcpy(note, follower->note, FOLLOW_NOTE_BYTES);
	pthread_mutex_unlock(&follower->lock);
}

static void follow_tell(struct follower *follower, const char *note, uint64_t until_ns)
{
	pthread_mutex_lock(&follower->lock);
	follower->info = follower->guest->info;
	text_clean(follower->note, sizeof(follower->note), note, strlen(note));
	follower->note_until_ns = until_ns;
	pthread_mutex_unlock(&follower->lock);
}

/* True: it is to quit. */
static bool follow_nap(const struct follower *follower, uint64_t ns)
{
	struct pollfd told = { .fd = follower->wake[0], .events = POLLIN };

	return poll(&told, 1, (int)(ns / 1000000)) > 0;
}

/* --- the end of a sampler --------------------------------------------------------------------- */

static struct sampler_counts follow_counts(const struct follower *follower)
{
	struct sampler_counts counts;

	control_get_counts(follower->settings.control, &counts);
	return counts;
}

static bool follow_has_ended(const struct follower *follower)
{
	return follow_counts(follower).state > SAMPLER_GUEST_PAUSED;
}

static void follow_fail(struct follower *follower, const char *message)
{
	control_put_message(follower->settings.control, message);
	control_settle(follower->settings.control, SAMPLER_FAILED);
}

/*
 * Guard, sampler and broker write how they ended. If nobody is left to do so they were all killed,
 * and it is said here in their place. True: somebody has said it.
 */
static bool follow_notice_end(struct follower *follower)
{
	for (unsigned i = 0; i < FOLLOW_END_TRIES && !follow_has_ended(follower); i++)
		if (follow_nap(follower, FOLLOW_END_NS))
			return false;
	if (!follow_has_ended(follower))
		follow_fail(follower, "xtop's other processes were killed; does the guest run? "
				      "see xtop --unpause");
	return true;
}

/* The resolver's thread. */
struct follow_check {
	struct follower *follower;
	struct xtop_error *error;
};

static void follow_check_now(void *context)
{
	struct follow_check *check = context;
	const struct follow_settings *settings = &check->follower->settings;

	memory_refresh(check->follower->guest->memory);
	check->error = settings->check(settings->context);
}

static void follow_check(struct follower *follower)
{
	struct follow_check check = { .follower = follower };

	follower->checks--;
	resolver_call(follower->settings.resolver, follow_check_now, &check);
	if (!check.error)
		return;
	guard_stop(&follower->guest->process, follower->settings.control);
	follower->guest->started = false;
	follow_fail(follower, error_message(check.error));
	error_destroy(check.error);
}

/* Sleeps until the guard has ended. False: it is to quit, or has failed itself. */
static bool follow_wait_end(struct follower *follower)
{
	struct pollfd fds[] = {
		{ .fd = follower->wake[0], .events = POLLIN },
		{ .fd = follower->guest->process.pidfd, .events = POLLIN },
	};

	while (follower->guest->started) {
		int wait_ms = follower->checks ? (int)(FOLLOW_CHECK_NS / 1000000) : -1;
		int ready = poll(fds, 2, wait_ms);

		if (ready > 0)
			return !fds[0].revents;
		if (ready == 0 && !follow_has_ended(follower))
			follow_check(follower);
	}
	return false;
}

/* --- looking for it --------------------------------------------------------------------------- */

static const char *follow_word(enum guest_end end)
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

/* A guest that nobody will bring back is as well looked for, but not waited for. */
static void follow_tell_away(struct follower *follower, enum guest_end end)
{
	bool waits = end > GUEST_END_POWEROFF ||
		     (end == GUEST_END_UNKNOWN && follower->settings.bound_ns);
	char note[FOLLOW_NOTE_BYTES];

	snprintf(note, sizeof(note), "%.63s %s%s", follower->guest->info.name, follow_word(end),
		 waits ? ", waiting for its return" : "");
	follow_tell(follower, note, 0);
}

static void follow_tell_back(struct follower *follower)
{
	uint64_t now_ns = clock_now_ns();
	char note[FOLLOW_NOTE_BYTES];

	snprintf(note, sizeof(note), "%.63s is back as domain %u after %.0f s, the profile goes on",
		 follower->guest->info.name, follower->guest->info.domid,
		 (double)(now_ns - follower->away_ns) / 1e9);
	follow_tell(follower, note, now_ns + FOLLOW_NOTE_NS);
}

/* Each look asks Xen and xenstore for all domains: some milliseconds of dom0's. */
static uint64_t follow_interval_ns(uint64_t away_ns)
{
	if (away_ns < 30000000000ULL)
		return 250000000;
	return away_ns < 300000000000ULL ? 1000000000 : 5000000000;
}

static bool follow_find(const struct follower *follower, struct guest_info *info)
{
	struct xtop_error *error = guest_find(follower->guest->info.uuid, info);

	if (error && follower->settings.name && follower->settings.name[0]) {
		error_destroy(error);
		error = guest_find(follower->settings.name, info);
	}
	error_destroy(error);
	return !error;
}

/* What `xl migrate` calls it while its memory comes; it has its own name again before it runs. */
static bool follow_is_incoming(const struct guest_info *info)
{
	static const char incoming[] = "--incoming";
	size_t length = strlen(info->name);

	return length >= strlen(incoming) &&
	       strcmp(info->name + length - strlen(incoming), incoming) == 0;
}

/* While it is built it gets its vCPUs one by one: what is seen twice is whole. */
static bool follow_find_whole(const struct follower *follower, struct guest_info *info)
{
	struct guest_info before = *info;

	if (!follow_find(follower, info) || follow_is_incoming(info)) {
		*info = (struct guest_info){ 0 };
		return false;
	}
	return info->domid == before.domid && info->n_vcpus == before.n_vcpus &&
	       info->type == before.type;
}

/* --- going on with it ------------------------------------------------------------------------- */

/* What is handed to the resolver. */
struct follow_exchange {
	struct follower *follower;
	struct follow_guest next;
};

static void follow_exchange(void *context)
{
	struct follow_exchange *exchange = context;
	const struct follow_settings *settings = &exchange->follower->settings;
	struct follow_guest *next = &exchange->next;

	/* In this order: what is left of the old guest is still named by its own tables. */
	resolver_follow(settings->resolver, next->ring, next->info.n_vcpus);
	os_follow(settings->os, next->memory, next->info.type, next->info.uuid);
}

/* The memory of NEXT's domain, and a ring that has room for its vCPUs. */
static struct xtop_error *follow_open(const struct follower *follower, struct follow_guest *next)
{
	struct ring *ring = follower->guest->ring;
	size_t size_bytes = sampler_ring_bytes(next->info.n_vcpus);
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

static void follow_replace(struct follower *follower, const struct follow_guest *next)
{
	struct follow_exchange exchange = { .follower = follower, .next = *next };
	struct follow_guest before = *follower->guest;

	resolver_call(follower->settings.resolver, follow_exchange, &exchange);
	memory_destroy(before.memory);
	if (before.ring != next->ring)
		ring_destroy(before.ring);
	*follower->guest = *next;
}

static struct xtop_error *follow_start(struct follower *follower)
{
	struct control *control = follower->settings.control;
	struct follow_guest *guest = follower->guest;
	struct xtop_error *error;

	control_start_anew(control);
	error = guard_start(&guest->info, control, guest->ring, &guest->process);
	if (error) {
		control_settle(control, SAMPLER_GUEST_AWAY);
		return error;
	}
	guest->started = true;
	while (follow_counts(follower).state == SAMPLER_STARTING &&
	       guard_is_alive(&guest->process) && !follow_nap(follower, FOLLOW_START_NS))
		;
	return NULL;
}

/* False: it is gone again, or Xen would not. */
static bool follow_go_on(struct follower *follower, const struct guest_info *info)
{
	struct follow_guest next = { .info = *info, .process = { .pidfd = -1 } };
	struct xtop_error *error;

	error = follow_open(follower, &next);
	if (!error) {
		follow_replace(follower, &next);
		error = follow_start(follower);
	}
	if (error) {
		follow_tell(follower, error_message(error), 0);
		error_destroy(error);
		return false;
	}
	follower->checks = follower->settings.check ? FOLLOW_CHECKS : 0;
	follow_tell_back(follower);
	return true;
}

static bool follow_gives_up(const struct follower *follower, enum guest_end end)
{
	return follower->settings.bound_ns &&
	       (end == GUEST_END_POWEROFF ||
		clock_now_ns() - follower->away_ns > follower->settings.bound_ns);
}

/* The guest is away. False: it stays so, or sampling has failed. */
static bool follow_await(struct follower *follower)
{
	struct sampler_counts counts = follow_counts(follower);
	enum guest_end end = control_ending(&counts);
	struct guest_info info = { 0 };

	if (!follower->settings.stays)
		follow_tell_away(follower, end);
	while (!follower->settings.stays && !follow_gives_up(follower, end)) {
		if (follow_nap(follower, follow_interval_ns(clock_now_ns() - follower->away_ns)))
			break;
		if (!broker_is_there()) {
			follow_fail(follower, "xtop's broker was killed");
			return false;
		}
		if (follow_find_whole(follower, &info) && follow_go_on(follower, &info))
			return true;
	}
	return false;
}

/* --- a hang ----------------------------------------------------------------------------------- */

static uint64_t follow_rest_ns(const struct follower *follower)
{
	double rest_ns = FOLLOW_HANG_NS / control_budget(follower->settings.control);

	return rest_ns < FOLLOW_REST_MAX_NS ? (uint64_t)rest_ns : FOLLOW_REST_MAX_NS;
}

/* All are dead: the counters are this thread's to write. False: that was once too often. */
static bool follow_restart(struct follower *follower)
{
	struct sampler_counts counts = follow_counts(follower);
	struct xtop_error *error;

	if (!restarts_allow(&follower->restarts, clock_now_ns())) {
		follow_fail(follower, "sampler and guard hung while the guest stood still and were "
				      "killed; the guest runs");
		return false;
	}
	counts.restarts++;
	control_put_counts(follower->settings.control, &counts);
	if (follow_nap(follower, follow_rest_ns(follower))) {
		control_settle(follower->settings.control, SAMPLER_ENDED);
		return false;
	}
	error = follow_start(follower);
	if (error)
		follow_fail(follower, error_message(error));
	error_destroy(error);
	return !error;
}

void follow_run(struct follower *follower)
{
	bool goes_on = true;

	while (goes_on && follow_wait_end(follower) && follow_notice_end(follower)) {
		enum sampler_state state = follow_counts(follower).state;

		if (state != SAMPLER_GUEST_AWAY && state != SAMPLER_HUNG)
			break;
		follower->away_ns = clock_now_ns();
		follower->checks = 0;
		guard_stop(&follower->guest->process, follower->settings.control);
		follower->guest->started = false;
		goes_on = state == SAMPLER_HUNG ? follow_restart(follower) : follow_await(follower);
	}
	if (follow_counts(follower).state == SAMPLER_GUEST_AWAY)
		control_settle(follower->settings.control, SAMPLER_GUEST_GONE);
}
