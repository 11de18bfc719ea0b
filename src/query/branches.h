/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps through a call tree, inwards or outwards, with equal functions merged. A place in the
 * merged tree is a run of members: the nodes of the snapshot at that place, each with the weight
 * that it brings. One step gives the branches of a place. Each branch is again a run of members:
 *
 *   inwards    a node's children, with their own weights
 *   outwards   a node's parent, with the weight of the member that the step came from
 *
 * The runs form a stack: branches_pop() removes all runs that were pushed since a mark. call_tree.c
 * and flame.c use this. One thread at a time.
 */
#ifndef QUERY_BRANCHES_H
#define QUERY_BRANCHES_H

#include "xtop/base/hash.h"
#include "xtop/query/weights.h"

struct branch_member {
	uint32_t node;
	double live;    /* the member's weight, decayed; inwards it is the node's weight */
	double ticks;   /* the member's weight, not decayed */
	uint64_t total; /* number of samples */
};

struct branch {
	uint32_t frame;
	uint32_t first, n; /* members */
	struct weights weights;
	/* The equal branch of the other profile, which branches_match() found. */
	uint32_t base_first, base_n;
	struct weights base;
};

/* What the steps remember for a frame. */
struct branch_slot {
	uint32_t step, index; /* the frame's branch in the step number STEP is list[INDEX] */
	uint32_t group;       /* group + 1; 0: not looked up yet */
};

struct branches {
	const struct snapshot *snapshot;
	bool addresses, totals, inwards;
	bool here; /* the next step does not move: it only groups the members by function */
	struct branch_member *members;
	struct branch *list;
	size_t n_members, members_capacity, n, capacity;
	struct branch_slot *slots; /* one slot per frame */
	uint32_t step;             /* number of the last step */
};

struct branches_mark {
	size_t n_members, n;
};

struct xtop_error *branches_init(struct branches *branches, const struct snapshot *snapshot,
				 bool addresses, bool totals, bool inwards);
void branches_deinit(struct branches *branches);
/*
 * Adds the node AT with its whole subtree to the place to start from, unless its weight is 0.
 * False: out of memory.
 */
bool branches_add_subtree(struct branches *branches, uint32_t at);
/* Starts at the root. False: out of memory. */
bool branches_start_root(struct branches *branches);
/* Starts where samples ended; the first step makes each function there a branch. */
bool branches_start_leaves(struct branches *branches);
/*
 * Pushes the branches of the N members from FIRST on: list[*FROMP .. branches->n), in the order in
 * which they were first seen. False: out of memory.
 */
bool branches_step(struct branches *branches, uint32_t first, uint32_t n, size_t *fromp);
/*
 * Call this after NOW has made a step. BASE, the branches of another profile with these frames,
 * makes that step from its BASE_N members at BASE_FIRST. NOW's branches from FROM on get BASE's
 * weights and members for their functions. False: out of memory.
 */
bool branches_match(struct branches *now, size_t from, struct branches *base, uint32_t base_first,
		    uint32_t base_n);
/* Whether a step from the N members at FIRST would find a branch. */
bool branches_has_any(const struct branches *branches, uint32_t first, uint32_t n);
struct branches_mark branches_mark(const struct branches *branches);
void branches_pop(struct branches *branches, struct branches_mark mark);

static inline double branches_weight(const struct branches *branches, const struct weights *weights)
{
	return branches->totals ? weights->children_ticks : weights->children_live;
}

/* The function as which FRAME counts. Looked up once for each frame: there are far more nodes. */
static inline uint32_t branches_group(struct branches *branches, uint32_t frame)
{
	struct branch_slot *slot = &branches->slots[frame];

	if (!slot->group)
		slot->group = 1 + (branches->addresses
					   ? frame
					   : frames_get(branches->snapshot->frames, frame)->group);
	return slot->group - 1;
}

/* The key of the path that continues the path with KEY by FRAME; never odd. */
static inline uint64_t branches_key(uint64_t key, uint32_t frame)
{
	return hash_word(key, (uint64_t)frame + 1) & ~1ULL;
}

#endif
