/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: the guard as the broker sees it. See guard.c. */
#ifndef SUPERVISE_GUARD_H
#define SUPERVISE_GUARD_H

#include "xtop/domctl.h"
#include "xtop/broker.h"

/*
 * The guard polls every GUARD_POLL_NS. When it has seen the same stop GUARD_MAX_POLLS times again,
 * after 24 to 32 ms, it decides that the sampler hangs. The broker, which supervises the guard,
 * waits longer.
 */
#define GUARD_POLL_NS    8000000
#define GUARD_MAX_POLLS      3
#define BROKER_POLL_NS   20000000
#define BROKER_MAX_POLLS     3

/*
 * A sampler that hung in a stop is started again, as often as xtop/restarts.h allows. Before that
 * the guest gets its time back: it runs for as long as the budget asks for after such a stop, but
 * at most for GUARD_REST_MAX_NS.
 */
#define GUARD_REST_MAX_NS 10000000000ULL

/* Finds out whether one stop lasts too long. */
struct hang_detector {
	uint64_t stops;    /* number of the stop at the last poll */
	uint64_t since_ns; /* the time of the poll that saw this stop first */
	unsigned polls;    /* how many polls have seen it again */
};

struct guard;
/*
 * Forks the guard, which forks the sampler, which calls SETTINGS->run. CONTROL and RING are shared
 * memory, and outlive the guard. SOCKET belongs to the broker: guard and sampler close it. This
 * process becomes the subreaper, the one that inherits orphans. Without SETTINGS->shared this fails
 * if another xtop samples the guest.
 */
struct xtop_error *guard_create(const struct guest_info *info, struct control *control,
				struct ring *ring, const struct broker_settings *settings,
				int socket, struct guard **guardp);
/* Xen has paused one of the guest's vCPUs for the broker: the sampler counts this as a stop. */
void guard_add_pause(struct guard *guard, uint64_t paused_ns);
int guard_pidfd(const struct guard *guard); /* readable when it has ended */
/*
 * Call it every BROKER_POLL_NS. Does the guard's work if the guard was killed or hangs. False: the
 * guard has ended, the guest runs, and control says why.
 */
bool guard_poll(struct guard *guard);
/*
 * Asks guard and sampler to quit, and kills them if they do not. The guest runs afterwards. This
 * may take two seconds, and other guests have guards too: MEANWHILE, which may be NULL, is called
 * every BROKER_POLL_NS.
 */
void guard_destroy(struct guard *guard, void (*meanwhile)(void *context), void *context);

#endif
