/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to guest/: the guard as the broker sees it. See guard.c.
 */
#ifndef GUEST_GUARD_H
#define GUEST_GUARD_H

#include "xtop/domctl.h"
#include "xtop/broker.h"

/*
 * A stop may last this many looks of the guard, GUARD_LOOK_NS apart, before the sampler is taken to
 * hang: 24 to 32 ms. The broker, who looks after the guard, waits longer.
 */
#define GUARD_LOOK_NS    8000000
#define GUARD_LOOKS      3
#define BROKER_LOOK_NS   20000000
#define BROKER_LOOKS     3

/*
 * A sampler that hung in a stop is started again, as often as xtop/restarts.h allows. Before that the
 * guest gets its time back: it runs for as long as the budget asks for after such a stop, but at most
 * for GUARD_REST_MAX_NS.
 */
#define GUARD_REST_MAX_NS 10000000000ULL

/* Whether one and the same stop is seen again and again. */
struct stop_watch {
	uint64_t stops;    /* the stop that was on at the last look */
	uint64_t since_ns; /* the first look at which it was on */
	unsigned looks;    /* after that one */
};
/* Another look; true when it was seen more than MAX_LOOKS times. */
bool stop_watch_look(struct stop_watch *watch, const struct stop_area *area, unsigned max_looks);

struct guard;
/*
 * Forks the guard, which forks the sampler, which calls RUN. CONTROL and RING are shared memory and
 * outlive it. SOCKET is the broker's alone: closed in both. This process becomes the one that
 * inherits orphans.
 */
struct xtop_error *guard_create(const struct guest_info *info, struct control *control,
				struct ring *ring, sampler_run_fn *run, int socket,
				struct guard **guardp);
int guard_pidfd(const struct guard *guard); /* readable when it has ended */
/*
 * Every BROKER_LOOK_NS. Does the guard's work if that was killed or hangs. False: it has ended, the
 * guest runs, and control says why.
 */
bool guard_tend(struct guard *guard);
/*
 * Asks guard and sampler to quit, and makes them if they do not; the guest runs afterwards. MEANWHILE
 * (NULL: nothing) is called every BROKER_LOOK_NS: this may take two seconds, and others have guards.
 */
void guard_destroy(struct guard *guard, void (*meanwhile)(void *context), void *context);

#endif
