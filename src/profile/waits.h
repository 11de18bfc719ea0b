/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile of tasks that wait: a second profile beside that of the samples, with the same
 * frames. Its ticks are milliseconds of one task's time. Resolver's thread.
 */
#ifndef PROFILE_WAITS_H
#define PROFILE_WAITS_H

#include "profile/fold.h"
#include "xtop/limit.h"
#include "xtop/os_waits.h"

#define WAITS_MAX_ROWS LIMIT(4096, 64)     /* sites, each with its process and thread */
#define WAITS_TICK_NS  1000000             /* the unit of the profile's weights */
#define WAITS_PASS_NS  200000000ULL        /* of CPU time that is used in one period */

struct waits;

struct waits_settings {
	struct frames *frames;
	struct names *names;
	const struct symbols *symbols;
	struct os *os;
	enum unwind_how how;
	uint64_t half_life_ns;
	size_t max_nodes;
};

/* All pointers outlive the waits. Error: out of memory. */
struct xtop_error *waits_create(const struct waits_settings *settings, struct waits **waitsp);
void waits_destroy(struct waits *waits); /* NULL allowed */

/*
 * If it is time for that, a turn of a pass over all tasks, PERIOD_NS after the one before. *DONE:
 * there was one; *MORE: call again at once.
 */
void waits_poll(struct waits *waits, uint64_t now_ns, uint64_t period_ns, bool *done, bool *more);
/* A turn that was recorded. */
void waits_replay(struct waits *waits, uint64_t now_ns, uint64_t period_ns);
/* FOLD has just added VCPU: notes where the task on the vCPU runs. */
void waits_update_vcpu(struct waits *waits, const struct fold *fold,
		       const struct sample_vcpu *vcpu);
/* Frames got better names: names_now() tells which. */
void waits_rename(struct waits *waits);
void waits_reset(struct waits *waits);
/* As profile_copy(), with counts and what struct snapshot_waits has. */
struct xtop_error *waits_snapshot(struct waits *waits, uint64_t time_ns,
				  struct snapshot **snapshotp);

#endif
