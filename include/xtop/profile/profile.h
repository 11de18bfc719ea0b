/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile: a call tree of all samples since start or reset, kept as a hash table of nodes
 * (parent, frame). A node keeps its own weight in ticks twice: live, which decays with a half-life,
 * and total. It also counts its samples. Decay costs nothing until somebody reads: adding a sample
 * costs its depth, and no pass over the table makes weights smaller.
 *
 * A sample is added only to the leaf of its stack. The weight that passes through a node is summed
 * when a snapshot is taken. Memory is bounded: when no node is free, the lightest subtrees are
 * evicted. Their weight is added to the root's child FRAME_EVICTED, and their nodes are counted.
 *
 * Resolver's thread. Other threads see snapshots (snapshot.h).
 */
#ifndef XTOP_PROFILE_H
#define XTOP_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/profile/frames.h"
#include "xtop/profile/snapshot.h"

#define PROFILE_MAX_NODES (1U << 20) /* 1 Mi nodes within 64 MiB */
#define PROFILE_MIN_NODES 16

struct profile;

/*
 * HALF_LIFE_NS 0: no decay; otherwise at least a millisecond. MAX_NODES: PROFILE_MIN_NODES to
 * PROFILE_MAX_NODES. A number outside its limits is replaced by the nearest limit. FRAMES outlives
 * the profile. Error: out of memory.
 */
struct xtop_error *profile_create(size_t max_nodes, uint64_t half_life_ns,
				  const struct frames *frames, struct profile **profilep);
void profile_destroy(struct profile *profile); /* NULL allowed */

/*
 * Adds COUNT samples of one stack of N frame ids, outermost first. Together they stand for TICKS.
 * If TIME_NS goes back, the latest time so far counts instead. N 0: the stack is FRAME_UNKNOWN
 * alone. A stack deeper than SNAPSHOT_MAX_DEPTH, or than half of MAX_NODES, keeps as many of its
 * outermost frames as of its innermost ones; FRAME_TRUNCATED stands for those in between.
 */
void profile_add(struct profile *profile, const uint32_t *frames, size_t n, uint64_t time_ns,
		 uint64_t count, double ticks);
void profile_reset(struct profile *profile); /* forgets all nodes and totals */

/*
 * Frames got better names. FIND_BETTER returns the frame that takes FRAME's place, mostly FRAME
 * itself. Stacks that become equal are added up.
 */
void profile_rename(struct profile *profile,
		    uint32_t (*find_better)(void *context, uint32_t frame), void *context);

/*
 * A new snapshot as of TIME_NS. The profile fills in what it knows: time_ns, started_ns, frames,
 * n_frames, nodes, live_weight, total_weight, profile_bytes, resolver.evicted_nodes and
 * resolver.frames_refused. The rest, run included, is zero: the caller fills it in. Error: out of
 * memory.
 */
struct xtop_error *profile_copy(struct profile *profile, uint64_t time_ns,
				struct snapshot **snapshotp);

/*
 * The number of nodes, root included. For tests and benchmarks, which ask after each sample: making
 * a snapshot would take too long.
 */
size_t profile_nodes(const struct profile *profile);
size_t profile_memory_bytes(const struct profile *profile);

#endif
