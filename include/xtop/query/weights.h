/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weights: how much of the samples a node, function or row has. Any thread. */
#ifndef XTOP_WEIGHTS_H
#define XTOP_WEIGHTS_H

#include "xtop/profile/snapshot.h"

/* Self: samples that ended in the thing. Children: these, and samples that went through it. */
struct weights {
	double self_live, children_live;       /* ticks, decayed */
	double self_ticks, children_ticks;     /* ticks since start or reset */
	uint64_t self_total, children_total;   /* number of samples since start or reset */
};

static inline struct weights weights_of(const struct snapshot_node *node)
{
	return (struct weights){ .self_live = node->self_live,
				 .children_live = node->children_live,
				 .self_ticks = node->self_ticks,
				 .children_ticks = node->children_ticks,
				 .self_total = node->self_total,
				 .children_total = node->children_total };
}

/* Adds NODE's own samples to WEIGHTS. */
static inline void weights_add_self(struct weights *weights, const struct snapshot_node *node)
{
	weights->self_live += node->self_live;
	weights->self_ticks += node->self_ticks;
	weights->self_total += node->self_total;
}

/* Adds the samples of NODE's whole subtree to WEIGHTS. */
static inline void weights_add_children(struct weights *weights, const struct snapshot_node *node)
{
	weights->children_live += node->children_live;
	weights->children_ticks += node->children_ticks;
	weights->children_total += node->children_total;
}

/* Adds MORE to WEIGHTS. */
static inline void weights_add(struct weights *weights, const struct weights *more)
{
	weights->self_live += more->self_live;
	weights->children_live += more->children_live;
	weights->self_ticks += more->self_ticks;
	weights->children_ticks += more->children_ticks;
	weights->self_total += more->self_total;
	weights->children_total += more->children_total;
}

#endif
