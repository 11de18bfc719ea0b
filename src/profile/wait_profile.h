/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile of waiting tasks: a second profile beside the profile of the samples, with the same
 * frames. Its ticks are milliseconds of one task's time. Resolver's thread.
 */
#ifndef PROFILE_WAIT_PROFILE_H
#define PROFILE_WAIT_PROFILE_H

#include "profile/fold.h"
#include "xtop/os/os_waits.h"

#define WAITS_TICK_NS 1000000 /* the unit of the profile's weights */
/* The most CPU time of a pass in one period. Half of the period is another limit. */
#define WAITS_PASS_NS 200000000ULL

struct waits;

/* The longest time for which a snapshot waits until the current pass is whole. */
#define WAITS_PATIENCE_NS 1000000000ULL

struct waits_settings {
	struct frames *frames;
	struct names *names;
	struct runtimes *runtimes; /* NULL: functions of interpreted programs are not wanted */
	const struct symbols *symbols;
	struct os *os;
	unsigned n_vcpus; /* number of vCPUs, GUEST_MAX_VCPUS or fewer */
	enum unwind_how how;
	uint64_t half_life_ns;
	size_t max_nodes;
};

/* All pointers outlive the waits. Error: out of memory. */
struct xtop_error *waits_create(const struct waits_settings *settings, struct waits **waitsp);
void waits_destroy(struct waits *waits); /* NULL allowed */

/*
 * Runs a turn of a pass over all tasks, if one is due. A pass begins PERIOD_NS after the beginning
 * of the pass before. *DONE: there was a turn. *MORE: call again at once.
 */
void waits_poll(struct waits *waits, uint64_t now_ns, uint64_t period_ns, bool *done, bool *more);
/* Runs the turn that was recorded with this time and period. */
void waits_replay(struct waits *waits, uint64_t now_ns, uint64_t period_ns);
/* FOLD has just added VCPU: remembers where the task on this vCPU runs. */
void waits_update_vcpu(struct waits *waits, const struct fold *fold,
		       const struct sample_vcpu *vcpu);
/* Frames got better names: names_find_better() tells which. */
void waits_rename(struct waits *waits);
void waits_reset(struct waits *waits);
/* Fills in what wakes the snapshot's vCPUs, as the last passes have read it from the guest. */
void waits_get_wakes(const struct waits *waits, struct snapshot *snapshot);
/*
 * Whether a pass is going on that began less than WAITS_PATIENCE_NS ago. The pass has seen only the
 * tasks with low pids, so a snapshot would have too much weight of these tasks, and too little of
 * the others. It is better to wait until the pass is whole.
 */
bool waits_is_torn(const struct waits *waits, uint64_t now_ns);
/* Builds a snapshot as profile_copy() does, with all counts and its struct snapshot_waits. */
struct xtop_error *waits_snapshot(struct waits *waits, uint64_t time_ns,
				  struct snapshot **snapshotp);

#endif
