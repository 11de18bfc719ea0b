/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recent figures: the sampling rate reached, and how vCPUs spend their time. The counters of a
 * snapshot count since start. Here their increases are summed up in a live window: each half-life,
 * the weight of an increase halves, as with samples in live shares. So the rate stays steady after
 * one long stop, for which the budget allows no sample for seconds.
 */
#ifndef UI_RECENT_H
#define UI_RECENT_H

#include "xtop/profile/snapshot.h"

struct recent {
	double half_life_s; /* 0: increases never lose weight */
	/* Counters of the last snapshot */
	uint64_t sequence; /* 0 before the first snapshot */
	uint64_t started_ns;
	bool runs;                       /* the guest was being sampled */
	/* ticks: sampled, skipped for the budget, guest unknown yet */
	uint64_t taken, skipped, waited;
	uint64_t elapsed_ns;             /* time since start */
	struct snapshot_vcpu counts[GUEST_MAX_VCPUS];
	/* Sums over the live window */
	double window_ns, window_taken, window_skipped;
	struct snapshot_vcpu vcpus[GUEST_MAX_VCPUS];
	/* Results */
	double rate_hz;      /* the rate reached; 0 if unknown */
	bool lowered;        /* the rate is lower because the budget was used up */
	uint64_t lowered_ns; /* how long the rate has been lowered */
	uint64_t full_ns;    /* time since a tick was skipped */
};

void recent_init(struct recent *recent, double half_life_s);
/* Forgets the window. A new one begins with SNAPSHOT. */
void recent_begin(struct recent *recent, const struct snapshot *snapshot);
/* Adds the increases since the last snapshot. Does nothing if SNAPSHOT is the last one. */
void recent_update(struct recent *recent, const struct snapshot *snapshot);
/* Whether the budget has been lowering the rate for at least 10 seconds. */
bool recent_is_throttled(const struct recent *recent);

/* Adds what a vCPU's counts grew by between FROM and TO. DECAY: the weight that SUM keeps. */
void vcpu_add_increase(struct snapshot_vcpu *sum, double decay, const struct snapshot_vcpu *from,
		       const struct snapshot_vcpu *to);

/* How a vCPU spent its time; each share is from 0 to 1. */
struct vcpu_shares {
	double user, kernel, steal, lock, idle;
};
struct vcpu_shares vcpu_shares_of(const struct snapshot_vcpu *vcpu);

#endif
