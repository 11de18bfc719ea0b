/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to guest/: raw domctls in preallocated hypercall memory. What libxenctrl's wrappers cost
 * (they allocate, copy and lock for each call) is several times what the hypercalls themselves do.
 */
#ifndef GUEST_DOMCTL_H
#define GUEST_DOMCTL_H

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

/* Where each stop is also noted, for the case that nobody is left to look at the area. */
struct pause_record;
void stop_area_set_record(struct stop_area *area, struct pause_record *record);

/* Whether Xen takes the domctls this program was built for. */
struct xtop_error *domctl_check_interface(void);

#endif
