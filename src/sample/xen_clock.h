/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far Xen's system time is ahead of dom0's CLOCK_MONOTONIC. Guests' clocks are made of Xen's
 * time, samples have dom0's. In the sampler's process; the guest runs meanwhile.
 */
#ifndef SAMPLE_XEN_CLOCK_H
#define SAMPLE_XEN_CLOCK_H

#include "xtop/guest.h"

/* Zeroed to begin with. */
struct xen_clock {
	uint64_t next_ns; /* when to ask again */
};

/*
 * Asks Xen ten times a second. False: it is too early, or Xen's answer took too long to be of use.
 */
bool xen_clock_measure(struct xen_clock *clock, const struct guest *guest, uint64_t *ahead_ns);

#endif
