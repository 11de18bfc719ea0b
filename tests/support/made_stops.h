/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stop area of a made-up Xen, for tests that run guard and sampler as real processes. It
 * replaces functions of domctl.c; made_stop() and made_release() take the place of Xen's calls. One
 * .c file of a test includes it, puts struct made_stops into memory that its processes share, and
 * defines stop_area_create().
 */
#ifndef TESTS_MADE_STOPS_H
#define TESTS_MADE_STOPS_H

#include <stdatomic.h>
#include <sys/timerfd.h>

#include "supervise/pause_record.h"
#include "xtop/xen/domctl.h"

#define PENDING 1

/* What Xen changes in one hypercall changes at once here, too: a process may be killed at any moment. */
struct made_state {
	int16_t pauses;           /* the domain's pause count */
	int16_t paused, released; /* results, as in the stop area */
	int16_t disarmed;         /* the first enum stop_user that Xen obeys */
};

struct made_stops {
	_Atomic struct made_state state;
	atomic_ullong stops;
};
static struct made_stops *made_stops;

struct stop_area {
	int alarm_fd; /* the timer; 0: there is none yet */
};
static struct stop_area made_area;

/* Sets the real timer. The caller gives the time that the real stop area uses. */
static void made_set_timer(long ns)
{
	const struct itimerspec when = { .it_value.tv_nsec = ns };

	timerfd_settime(made_area.alarm_fd, 0, &when, NULL);
}

/* To be called before the first fork(). */
static void made_open_alarm(void)
{
	if (!made_area.alarm_fd)
		made_area.alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	made_set_timer(0);
}

void stop_area_set_alarm(struct stop_area *area)
{
	(void)area;
	made_set_timer(STOP_ALARM_NS);
}

void stop_area_clear_alarm(struct stop_area *area)
{
	(void)area;
	made_set_timer(0);
}

int stop_area_alarm_fd(const struct stop_area *area)
{
	return area->alarm_fd;
}

void stop_area_destroy(struct stop_area *area)
{
	(void)area;
}

static struct made_state made_state(void)
{
	return atomic_load(&made_stops->state);
}

static void made_begin(int pauses)
{
	atomic_store(&made_stops->state,
		     ((struct made_state){ (int16_t)pauses, PENDING, PENDING, 0 }));
}

/* Puts NEXT in the place of *BEFORE. False: *BEFORE has changed meanwhile, and is new. */
static bool made_change(struct made_state *before, struct made_state next)
{
	return atomic_compare_exchange_strong(&made_stops->state, before, next);
}

bool stop_area_is_stopped(const struct stop_area *area)
{
	struct made_state now = made_state();

	(void)area;
	return now.paused == 0 && now.released == PENDING;
}

uint64_t stop_area_stops(const struct stop_area *area)
{
	(void)area;
	return made_stops->stops;
}

void stop_area_set_mark(struct stop_area *area, struct pause_mark *mark)
{
	(void)area, (void)mark;
}

void stop_area_arm(struct stop_area *area)
{
	(void)area;
	made_begin(made_state().pauses);
}

void stop_area_disarm(struct stop_area *area, enum stop_user user)
{
	struct made_state before = made_state(), next;

	(void)area;
	do {
		next = before;
		next.disarmed = (int16_t)user;
	} while (!made_change(&before, next));
}

void stop_area_add_pause(struct stop_area *area, uint64_t paused_ns)
{
	(void)area, (void)paused_ns;
}

/* guest_ops.expect_stops and .end_stops */
static void made_expect_stops(void *context)
{
	(void)context;
	stop_area_set_alarm(&made_area);
}

static void made_end_stops(void *context)
{
	(void)context;
	stop_area_clear_alarm(&made_area);
}

/* False: Xen refuses. */
static bool made_stop(void)
{
	struct made_state before = made_state(), next;

	made_stops->stops++;
	do {
		next = before;
		next.paused = next.released = PENDING;
	} while (!made_change(&before, next));
	do {
		before = made_state();
		if (before.disarmed)
			return false;
		next = before;
		next.pauses++;
		next.paused = 0;
	} while (!made_change(&before, next));
	return true;
}

static void made_release(enum stop_user user)
{
	struct made_state before = made_state(), next;

	do {
		if ((int)user < before.disarmed)
			return;
		next = before;
		next.pauses--;
		next.released = 0;
	} while (!made_change(&before, next));
}

#endif
