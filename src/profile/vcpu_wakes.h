/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What wakes the vCPUs when they are blocked: their next timers and their event channels, as the
 * guest's system tells at the end of a pass over its tasks. Resolver's thread.
 */
#ifndef XTOP_PROFILE_VCPU_WAKES_H
#define XTOP_PROFILE_VCPU_WAKES_H

#include "xtop/os/os.h"
#include "xtop/profile/snapshot.h"

/*
 * One of so many passes reads the event channels. These change rarely: when a device is attached,
 * or when interrupts are moved.
 */
#define VCPU_WAKES_EVENT_PASSES 16

struct vcpu_wakes {
	struct {
		uint64_t at_ns, read_ns; /* timer_ns and timer_read_ns of struct snapshot_vcpu */
	} timers[GUEST_MAX_VCPUS];
	struct os_events events[GUEST_MAX_VCPUS];
	uint64_t passes;
};

/* Call this after each pass, at NOW_NS of the samples' clock. Reads channels in each 16th pass. */
void vcpu_wakes_read(struct vcpu_wakes *wakes, struct os *os, unsigned n_vcpus, uint64_t now_ns);
/* Fills in the snapshot's vCPUs. Without memory the snapshot has no event channels. */
void vcpu_wakes_get(const struct vcpu_wakes *wakes, struct snapshot *snapshot);

#endif
