/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: how far Xen's system time is ahead of dom0's CLOCK_MONOTONIC. Guests derive
 * their clocks from Xen's time; samples have dom0's time. Sampler's thread, while the guest runs.
 */
#ifndef SAMPLE_XEN_CLOCK_H
#define SAMPLE_XEN_CLOCK_H

#include "xtop/xen/guest.h"

/* The caller zeroes it first. */
struct xen_clock {
	uint64_t next_ns; /* when to ask Xen again */
};

/*
 * Asks Xen at most ten times a second, or once a second if not OFTEN. NOW_NS is about the present
 * time. Returns false if it is not time to ask, or if Xen did not answer soon enough.
 */
bool xen_clock_measure(struct xen_clock *clock, const struct guest *guest, bool often,
		       uint64_t now_ns, uint64_t *ahead_ns);

#endif
