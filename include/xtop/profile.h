/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile: a call tree of all samples since start or reset, kept as a hash table of nodes
 * (parent, frame). A node carries its own weight twice: live, decaying with a half-life, and
 * total, the plain count. Decay costs nothing until somebody looks: a sample costs its depth and
 * the table is never swept for it.
 *
 * Only the leaf of a stack is weighed; what passes through a node is summed when a snapshot is
 * taken. Memory is bounded: when the nodes are used up, the lightest subtrees go, and what they
 * held is added to the root's child FRAME_EVICTED and counted.
 *
 * Resolver's thread. Others see snapshots (xtop/snapshot.h).
 */
#ifndef XTOP_PROFILE_H
#define XTOP_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "xtop/error.h"
#include "xtop/frames.h"
#include "xtop/snapshot.h"

#define PROFILE_MAX_NODES (1U << 20) /* 1 Mi nodes within 64 MiB */
#define PROFILE_MIN_NODES 16

struct profile;

/* HALF_LIFE_NS 0: no decay; else at least a millisecond. MAX_NODES: PROFILE_MIN_NODES ..
 * PROFILE_MAX_NODES. Outside of these the nearest is taken. FRAMES outlives the profile. */
struct xtop_error *profile_create(size_t max_nodes, uint64_t half_life_ns,
				  const struct frames *frames, struct profile **profilep);
void profile_destroy(struct profile *profile); /* NULL allowed */

/*
 * Adds COUNT samples of one stack, OUTERMOST FIRST: N frame ids. TIME_NS never goes back (it is
 * taken as the latest seen when it does). N 0 is a stack of FRAME_UNKNOWN. Depth above
 * SNAPSHOT_MAX_DEPTH, or half of MAX_NODES, is cut at the innermost end.
 */
void profile_add(struct profile *profile, const uint32_t *frames, size_t n, uint64_t time_ns,
		 uint32_t count);
void profile_reset(struct profile *profile); /* forgets all nodes and totals */

/*
 * Frames got better names: NOW says which frame each one is from now on (itself, mostly). Stacks
 * that became equal by it are added up.
 */
void profile_rename(struct profile *profile, uint32_t (*now)(void *context, uint32_t frame),
		    void *context);

/*
 * A new snapshot as of TIME_NS, the caller's to complete: what the profile knows is filled in
 * (time_ns, started_ns, frames, n_frames, nodes, live_weight, total_weight, profile_bytes,
 * resolver.evicted_nodes and resolver.frames_refused), the rest is zero. Error: out of memory.
 */
struct xtop_error *profile_copy(struct profile *profile, uint64_t time_ns,
				struct snapshot **snapshotp);

size_t profile_nodes(const struct profile *profile);
uint64_t profile_evicted(const struct profile *profile); /* nodes thrown out since start or reset */
size_t profile_memory_bytes(const struct profile *profile);

#endif
