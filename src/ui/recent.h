/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happened between the last two pictures. Counters in a snapshot count since start; the screen
 * shows their increase as "now".
 */
#ifndef UI_RECENT_H
#define UI_RECENT_H

#include "xtop/snapshot.h"

struct recent {
	/* of the last snapshot */
	uint64_t sequence;                             /* 0: there was none */
	uint64_t taken, skipped; /* ticks taken, ticks skipped for the budget */
	uint64_t elapsed_ns;                           /* since start */
	struct snapshot_vcpu counts[GUEST_MAX_VCPUS]; /* ticks */
	/* between the last two */
	double rate_hz;                                /* reached */
	bool lowered;                                  /* because the budget was used up */
	struct snapshot_vcpu vcpus[GUEST_MAX_VCPUS];  /* ticks */
};

/* Does nothing if SNAPSHOT is the last one again. */
void recent_update(struct recent *recent, const struct snapshot *snapshot);

/* Where the time of a vCPU went; 0..1 each. */
struct vcpu_shares {
	double user, kernel, steal, lock, idle;
};
struct vcpu_shares vcpu_shares_of(const struct snapshot_vcpu *vcpu);

#endif
