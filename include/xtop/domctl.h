/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw domctls in preallocated hypercall memory. What libxenctrl's wrappers cost
 * (they allocate, copy and lock for each call) is several times what the hypercalls themselves do.
 */
#ifndef XTOP_DOMCTL_H
#define XTOP_DOMCTL_H

#include "xtop/guest.h"

/*
 * Memory that Xen reads calls from and writes results to. Made by the guard before it forks the
 * sampler: both see it, so that when the sampler dies the guard reads from Xen's own results
 * whether the guest stands still on our account.
 */
struct stop_area;
struct xtop_error *stop_area_create(const struct guest_info *info, struct stop_area **areap);
void stop_area_destroy(struct stop_area *area);

/* Opens hypercall and mapping handles for this process; AREA outlives the guest. */
struct xtop_error *domctl_open(const struct guest_info *info, struct stop_area *area,
			       struct guest *guest);

/*
 * True when the last stop was done and its release was not. For the guard, once the sampler is
 * dead.
 */
bool stop_area_is_stopped(const struct stop_area *area);

uint64_t stop_area_stops(const struct stop_area *area);

/*
 * A note of each stop in memory that outlives all processes of xtop: part of a file, for the case that
 * nobody is left to look at the area.
 */
struct pause_mark {
	uint64_t cpu_time_ns; /* the guest had used at the look before the stop */
	uint64_t since_ns;    /* how long before the stop that look was; a stopped guest uses no more */
	uint64_t is_stopped;  /* 1 from before the stop until after the release */
};

/* Before the stop: three stores. MARK may be NULL. */
static inline void pause_mark_begin(struct pause_mark *mark, uint64_t cpu_time_ns,
				    uint64_t since_ns)
{
	if (!mark)
		return;
	*(volatile uint64_t *)&mark->cpu_time_ns = cpu_time_ns;
	*(volatile uint64_t *)&mark->since_ns = since_ns;
	*(volatile uint64_t *)&mark->is_stopped = 1;
}

/* After the release. MARK may be NULL. */
static inline void pause_mark_end(struct pause_mark *mark)
{
	if (mark)
		*(volatile uint64_t *)&mark->is_stopped = 0;
}

/* MARK is written at each stop from now on; it outlives AREA. NULL: nothing is. */
void stop_area_set_mark(struct stop_area *area, struct pause_mark *mark);

/* Whether Xen takes the domctls this program was built for. */
struct xtop_error *domctl_check_interface(void);

#endif
