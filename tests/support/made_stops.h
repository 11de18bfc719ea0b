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

struct made_stops {
	atomic_int pauses;           /* the domain's pause count */
	atomic_int paused, released; /* results, as in the stop area */
	atomic_ullong stops;
	atomic_int disarmed; /* the first enum stop_user that Xen obeys */
};
static struct made_stops *made_stops;

struct stop_area {
	int alarm_fd; /* 0: there is none yet */
};
static struct stop_area made_area;

/* The real timer: for as long as the real stop area says. */
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

bool stop_area_is_stopped(const struct stop_area *area)
{
	(void)area;
	return made_stops->paused == 0 && made_stops->released == PENDING;
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
	made_stops->paused = PENDING;
	made_stops->released = PENDING;
	made_stops->disarmed = 0;
}

void stop_area_disarm(struct stop_area *area, enum stop_user user)
{
	(void)area;
	made_stops->disarmed = (int)user;
}

void stop_area_add_pause(struct stop_area *area, uint64_t paused_ns)
{
	(void)area, (void)paused_ns;
}

/* False: Xen refuses. */
static bool made_stop(void)
{
	made_stops->stops++;
	made_stops->paused = PENDING;
	made_stops->released = PENDING;
	if (made_stops->disarmed)
		return false;
	made_stops->pauses++;
	made_stops->paused = 0;
	return true;
}

static void made_release(enum stop_user user)
{
	if ((int)user < made_stops->disarmed)
		return;
	made_stops->pauses--;
	made_stops->released = 0;
}

#endif
