/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps through a call tree, inwards or outwards, with equal functions merged. A place in the
 * merged tree is a run of members: the nodes of the snapshot that stand there, each with the
 * weight it brings. One step gives the branches of a place, each a run again:
 *
 *   inwards    a node's children, with their own weights
 *   outwards   a node's parent, with the weight the member came with
 *
 * A stack of runs: what a step added is dropped by going back to a mark. Used by call_tree.c and
 * flame.c.
 */
#ifndef PROFILE_BRANCHES_H
#define PROFILE_BRANCHES_H

#include "xtop/functions.h"

struct branch_member {
	uint32_t node;
	double live;    /* what it brings; inwards the node's own weight */
	uint64_t total;
};

struct branch {
	uint32_t frame;
	uint32_t first, n; /* members */
	struct weights weights;
};

/* What is known of a frame. */
struct branch_slot {
	uint32_t step, index; /* its branch in that step */
	uint32_t group;       /* + 1; 0: not asked yet */
};

struct branches {
	const struct snapshot *snapshot;
	bool addresses, totals, inwards;
	bool here; /* the next step goes nowhere: members are told apart by their own function */
	struct branch_member *members;
	struct branch *list;
	size_t n_members, members_capacity, n, capacity;
	struct branch_slot *slots; /* by frame */
	uint32_t step;
};

struct branches_mark {
	size_t n_members, n;
};

struct xtop_error *branches_init(struct branches *branches, const struct snapshot *snapshot,
				 bool addresses, bool totals, bool inwards);
void branches_deinit(struct branches *branches);
/* A member of the place to start from, unless it weighs nothing; false: out of memory. */
bool branches_add(struct branches *branches, uint32_t node, double live, uint64_t total);
/* Starts from the root; from where samples ended, each function of these a branch. */
bool branches_start_root(struct branches *branches);
bool branches_start_leaves(struct branches *branches);
/*
 * The branches of the N members from FIRST on stand in list[*FROMP .. branches->n), in the order in
 * which they were first seen. False: out of memory.
 */
bool branches_step(struct branches *branches, uint32_t first, uint32_t n, size_t *fromp);
bool branches_any(const struct branches *branches, uint32_t first, uint32_t n);
struct branches_mark branches_mark(const struct branches *branches);
void branches_back(struct branches *branches, struct branches_mark mark);

static inline double branches_weight(const struct branches *branches, const struct weights *weights)
{
	return branches->totals ? (double)weights->children_total : weights->children_live;
}

/* Asked once a frame, there are far more nodes. */
static inline uint32_t branches_group(struct branches *branches, uint32_t frame)
{
	struct branch_slot *slot = &branches->slots[frame];

	if (!slot->group)
		slot->group = 1 + (branches->addresses
					   ? frame
					   : frames_get(branches->snapshot->frames, frame)->group);
	return slot->group - 1;
}

/* The key of a path that goes on from the one with KEY to FRAME; never odd. */
static inline uint64_t branches_key(uint64_t key, uint32_t frame)
{
	return ((key ^ ((uint64_t)frame + 1)) * 0x9e3779b97f4a7c15ULL) & ~1ULL;
}

#endif
