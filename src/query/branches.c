/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps through a call tree; see branches.h. */
#include "config.h"

#include "query/branches.h"

#include <stdlib.h>

#include "xtop/base/vector.h"

struct xtop_error *branches_init(struct branches *branches, const struct snapshot *snapshot,
				 bool addresses, bool totals, bool inwards)
{
	*branches = (struct branches){
		.snapshot = snapshot, .addresses = addresses, .totals = totals, .inwards = inwards
	};
	branches->slots = calloc(snapshot->n_frames, sizeof(*branches->slots));
	return branches->slots ? NULL : error_create("no memory for a call tree");
}

void branches_deinit(struct branches *branches)
{
	free(branches->members);
	free(branches->list);
	free(branches->slots);
}

static bool branches_reserve_members(struct branches *branches, size_t more)
{
	return vector_reserve(branches->members, branches->members_capacity,
			      branches->n_members + more);
}

static double member_weight(const struct branches *branches, const struct branch_member *member)
{
	return branches->totals ? member->ticks : member->live;
}

/* Adds a member to the place to start from, unless its weight is 0. False: out of memory. */
static bool branches_add_member(struct branches *branches, const struct branch_member *member)
{
	if (!(member_weight(branches, member) > 0))
		return true;
	if (!branches_reserve_members(branches, 1))
		return false;
	branches->members[branches->n_members++] = *member;
	return true;
}

bool branches_add_subtree(struct branches *branches, uint32_t at)
{
	const struct snapshot_node *node = &branches->snapshot->nodes[at];

	return branches_add_member(branches, &(struct branch_member){ at, node->children_live,
								      node->children_ticks,
								      node->children_total });
}

bool branches_start_root(struct branches *branches)
{
	return branches_add_subtree(branches, 0);
}

bool branches_start_leaves(struct branches *branches)
{
	const struct snapshot *snapshot = branches->snapshot;

	branches->here = true;
	for (uint32_t i = 1; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		if (!branches_add_member(branches, &(struct branch_member){ i, node->self_live,
									    node->self_ticks,
									    node->self_total }))
			return false;
	}
	return true;
}

/* --- one step --------------------------------------------------------------------------------- */

/*
 * The first node to which a step from MEMBER leads. branches_next() gives the others. FRAME_NONE:
 * there are no more. Outwards there is at most one node.
 */
static uint32_t branches_first(const struct branches *branches, const struct branch_member *member)
{
	const struct snapshot_node *nodes = branches->snapshot->nodes;
	uint32_t parent = nodes[member->node].parent;

	if (branches->here)
		return member->node;
	if (branches->inwards)
		return member->node + 1 < nodes[member->node].end ? member->node + 1 : FRAME_NONE;
	return parent ? parent : FRAME_NONE; /* the root is no function */
}

static uint32_t branches_next(const struct branches *branches, const struct branch_member *member,
			      uint32_t at)
{
	const struct snapshot_node *nodes = branches->snapshot->nodes;

	if (branches->here || !branches->inwards || nodes[at].end >= nodes[member->node].end)
		return FRAME_NONE;
	return nodes[at].end;
}

/* The member that a step from MEMBER to the node AT makes. */
static struct branch_member branches_move(const struct branches *branches,
					  const struct branch_member *member, uint32_t at)
{
	const struct snapshot_node *node = &branches->snapshot->nodes[at];

	return branches->inwards
		       ? (struct branch_member){ at, node->children_live, node->children_ticks,
						 node->children_total }
		       : (struct branch_member){ at, member->live, member->ticks, member->total };
}

static void branch_weigh(const struct branches *branches, struct branch *branch,
			 const struct branch_member *member)
{
	const struct snapshot_node *node = &branches->snapshot->nodes[member->node];

	branch->weights.children_live += member->live;
	branch->weights.children_ticks += member->ticks;
	branch->weights.children_total += member->total;
	if (branches->inwards) {
		branch->weights.self_live += node->self_live;
		branch->weights.self_ticks += node->self_ticks;
		branch->weights.self_total += node->self_total;
	}
	branch->n++;
}

/* The branch of FRAME in the current step; added if new. NULL: out of memory. */
static struct branch *branches_find_or_add(struct branches *branches, uint32_t frame)
{
	struct branch_slot *slot = &branches->slots[frame];

	if (slot->step == branches->step)
		return &branches->list[slot->index];
	if (!vector_reserve(branches->list, branches->capacity, branches->n + 1))
		return NULL;
	slot->step = branches->step;
	slot->index = (uint32_t)branches->n;
	branches->list[branches->n] = (struct branch){ .frame = frame };
	return &branches->list[branches->n++];
}

/*
 * Counts the members of each branch and sums their weights. The members get their places later,
 * when the size of each branch is known.
 */
static bool branches_count(struct branches *branches, uint32_t first, uint32_t n, size_t *countp)
{
	const struct snapshot_node *nodes = branches->snapshot->nodes;

	*countp = 0;
	for (uint32_t i = first; i < first + n; i++) {
		const struct branch_member *member = &branches->members[i];

		for (uint32_t at = branches_first(branches, member); at != FRAME_NONE;
		     at = branches_next(branches, member, at)) {
			struct branch_member to = branches_move(branches, member, at);
			struct branch *branch;

			if (!(member_weight(branches, &to) > 0))
				continue;
			branch = branches_find_or_add(branches,
						      branches_group(branches, nodes[at].frame));
			if (!branch)
				return false;
			branch_weigh(branches, branch, &to);
			(*countp)++;
		}
	}
	return true;
}

/* Copies the members to their branches, which branches_count() made. */
static void branches_place(struct branches *branches, uint32_t first, uint32_t n)
{
	const struct snapshot_node *nodes = branches->snapshot->nodes;

	for (uint32_t i = first; i < first + n; i++) {
		struct branch_member member = branches->members[i];

		for (uint32_t at = branches_first(branches, &member); at != FRAME_NONE;
		     at = branches_next(branches, &member, at)) {
			struct branch_member to = branches_move(branches, &member, at);
			struct branch *branch;

			if (!(member_weight(branches, &to) > 0))
				continue;
			branch = branches_find_or_add(branches,
						      branches_group(branches, nodes[at].frame));
			branches->members[branch->first + branch->n++] = to;
		}
	}
}

bool branches_step(struct branches *branches, uint32_t first, uint32_t n, size_t *fromp)
{
	size_t from = branches->n, count;

	branches->step++;
	if (!branches_count(branches, first, n, &count) ||
	    !branches_reserve_members(branches, count))
		return false;
	for (size_t i = from; i < branches->n; i++) {
		branches->list[i].first = (uint32_t)branches->n_members;
		branches->n_members += branches->list[i].n;
		branches->list[i].n = 0;
	}
	branches_place(branches, first, n);
	branches->here = false;
	*fromp = from;
	return true;
}

bool branches_match(struct branches *now, size_t from, struct branches *base, uint32_t base_first,
		    uint32_t base_n)
{
	size_t base_from;

	if (!branches_step(base, base_first, base_n, &base_from))
		return false;
	for (size_t i = from; i < now->n; i++) {
		struct branch *branch = &now->list[i];
		const struct branch_slot *slot = branch->frame < base->snapshot->n_frames
							 ? &base->slots[branch->frame]
							 : NULL;

		if (!slot || slot->step != base->step)
			continue;
		branch->base_first = base->list[slot->index].first;
		branch->base_n = base->list[slot->index].n;
		branch->base = base->list[slot->index].weights;
	}
	return true;
}

bool branches_has_any(const struct branches *branches, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++) {
		const struct branch_member *member = &branches->members[i];

		for (uint32_t at = branches_first(branches, member); at != FRAME_NONE;
		     at = branches_next(branches, member, at)) {
			struct branch_member to = branches_move(branches, member, at);

			if (member_weight(branches, &to) > 0)
				return true;
		}
	}
	return false;
}

struct branches_mark branches_mark(const struct branches *branches)
{
	return (struct branches_mark){ branches->n_members, branches->n };
}

void branches_pop(struct branches *branches, struct branches_mark mark)
{
	branches->n_members = mark.n_members;
	branches->n = mark.n;
}
