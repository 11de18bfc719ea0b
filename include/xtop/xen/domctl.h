/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw domctls in preallocated hypercall memory, with the interface version of the running Xen. The
 * wrappers of libxenctrl, which xtop does not use (doc/DESIGN §21), allocate, copy and lock for
 * each call: pause, one vCPU's context and unpause take 87 thousand instructions by these wrappers,
 * and 26 thousand by raw calls (PVH guest, deterministic lab).
 */
#ifndef XTOP_DOMCTL_H
#define XTOP_DOMCTL_H

#include "xtop/xen/guest.h"

/* The processes that may release the guest. Each watches the one before it. */
enum stop_user { STOP_SAMPLER, STOP_GUARD, STOP_KEEPER };
#define N_STOP_USERS 3

/*
 * Memory from which Xen reads calls, and to which Xen writes results. This memory is made before
 * the sampler is forked, and shared: when the sampler dies, the guard reads from Xen's own results
 * whether the sampler has left the guest stopped.
 */
struct stop_area;
struct xtop_error *stop_area_create(const struct guest_info *info, struct stop_area **areap);
void stop_area_destroy(struct stop_area *area);

/*
 * Opens hypercall and mapping handles for this process, which uses the release of USER. AREA
 * outlives GUEST.
 */
struct xtop_error *domctl_open(const struct guest_info *info, struct stop_area *area,
			       enum stop_user user, struct guest *guest);

/*
 * The alarm of the area: a timer of the kernel. The sampler sets the alarm before it stops the
 * guest. When the guest runs again, the sampler clears the alarm before it sleeps for longer than a
 * few milliseconds. The alarm's descriptor becomes readable STOP_ALARM_NS after the alarm was set,
 * and remains so until the alarm is cleared or set again. Guard and keeper sleep on this
 * descriptor. So a short stop wakes nobody, and a guest that is not stopped costs nothing.
 * Processes share the alarm after fork().
 */
#define STOP_ALARM_NS 8000000
void stop_area_set_alarm(struct stop_area *area);
void stop_area_clear_alarm(struct stop_area *area);
int stop_area_alarm_fd(const struct stop_area *area);

/*
 * Whether Xen has done the last stop but no release since. The guard calls this after it has
 * disarmed the sampler.
 */
bool stop_area_is_stopped(const struct stop_area *area);

/*
 * From now on Xen refuses each stop, and the releases of the users before USER. Their processes
 * have been killed. One of them may not be dead yet, and may be on its way into Xen: such a late
 * call has no effect.
 */
void stop_area_disarm(struct stop_area *area, enum stop_user user);
/* Undoes stop_area_disarm(), for a new sampler. The disarmed processes must be dead. */
void stop_area_arm(struct stop_area *area);

/*
 * The number of stops begun. Xen's results are reset after this number is raised: if two calls
 * return the same number, they have seen the same stop.
 */
uint64_t stop_area_stops(const struct stop_area *area);

/*
 * Adds PAUSED_NS, the time for which Xen has paused a vCPU to give the broker its registers. The
 * sampler's next look reports this time. Only one process calls this function.
 */
void stop_area_add_pause(struct stop_area *area, uint64_t paused_ns);

/*
 * A note of the current stop, in memory that outlives all processes of xtop: part of a file.
 * Another xtop reads the note when no process is left that knows the area.
 */
struct pause_mark {
	uint64_t cpu_time_ns; /* CPU time of the guest at the look before the stop */
	uint64_t since_ns;    /* time from the look to the stop; a stopped guest uses no CPU time */
	uint64_t is_stopped;  /* 1 from before the stop until after the release */
};

/* Marks a stop that is about to begin; takes three stores. MARK may be NULL. */
static inline void pause_mark_begin(struct pause_mark *mark, uint64_t cpu_time_ns,
				    uint64_t since_ns)
{
	if (!mark)
		return;
	*(volatile uint64_t *)&mark->cpu_time_ns = cpu_time_ns;
	*(volatile uint64_t *)&mark->since_ns = since_ns;
	*(volatile uint64_t *)&mark->is_stopped = 1;
}

/* Clears the mark after the release. MARK may be NULL. */
static inline void pause_mark_end(struct pause_mark *mark)
{
	if (mark)
		*(volatile uint64_t *)&mark->is_stopped = 0;
}

/* Each stop writes to MARK from now on. MARK outlives AREA. NULL: no mark is written. */
void stop_area_set_mark(struct stop_area *area, struct pause_mark *mark);

/*
 * How a domain has ended, by Xen's FLAGS, XEN_DOMINF_*. GUEST_END_UNKNOWN: the flags show no end.
 */
enum guest_end domctl_decode_end(uint32_t flags);

#endif
