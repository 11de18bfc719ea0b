/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens now: the rate that is reached, and where the time of the vCPUs goes. Counters in a
 * snapshot count since start; here their increases are added up, and what is older counts less. It
 * counts half after each half-life, as samples do in the live shares. So one long stop, after which
 * the budget allows no sample for seconds, does not look like a fault.
 */
#ifndef UI_RECENT_H
#define UI_RECENT_H

#include "xtop/profile/snapshot.h"

struct recent {
	double half_life_s; /* 0: what is older counts fully */
	/* of the last snapshot */
	uint64_t sequence;  /* 0: there was none */
	uint64_t started_ns;
	bool runs;          /* the guest was being sampled */
	uint64_t taken, skipped, waited; /* ticks: with a sample, without for the budget, on hold */
	uint64_t elapsed_ns;             /* since start */
	struct snapshot_vcpu counts[GUEST_MAX_VCPUS]; /* ticks */
	/* sums over the live window */
	double window_ns, window_taken, window_skipped;
	struct snapshot_vcpu vcpus[GUEST_MAX_VCPUS];
	/* what follows from them */
	double rate_hz;      /* reached; 0: not known */
	bool lowered;        /* because the budget was used up */
	uint64_t lowered_ns; /* for so long */
	uint64_t full_ns;    /* for so long no tick was skipped */
};

void recent_init(struct recent *recent, double half_life_s);
/* Forgets the window: it begins with SNAPSHOT. */
void recent_begin(struct recent *recent, const struct snapshot *snapshot);
/* Does nothing if SNAPSHOT is the last one again. */
void recent_update(struct recent *recent, const struct snapshot *snapshot);
/* The budget has lowered the rate for many seconds, and does so still. */
bool recent_is_throttled(const struct recent *recent);

/* Where the time of a vCPU went; 0..1 each. */
struct vcpu_shares {
	double user, kernel, steal, lock, idle;
};
struct vcpu_shares vcpu_shares_of(const struct snapshot_vcpu *vcpu);

#endif
