/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moments of the history, and the profile of the time between two of them: the sum of what each
 * moment added. Belongs to a history, so one thread at a time.
 */
#ifndef QUERY_RANGE_H
#define QUERY_RANGE_H

#include "query/exits_growth.h"
#include "query/paths.h"
#include "query/takers_sum.h"
#include "xtop/query/history.h"

/* A node of a moment, whose nodes are in pre-order. */
struct history_node {
	uint32_t frame, parent;
	float self_live, self_ticks;
	uint32_t self_total;
};

struct history_share {
	uint32_t frame;
	float percent;
};

struct history_moment {
	struct snapshot *head; /* the moment's snapshot without nodes */
	size_t n_nodes, n_grown, n_shares;
	struct history_node *nodes;
	struct history_node *grown;   /* the growth since the last moment */
	struct history_share *shares; /* ascending by frame */
	struct exits_moment *exits;   /* what HEAD's exits grew by, or NULL */
};

struct range_sum;

/* The sum over several moments. The caller zeroes it before range_begin(). */
struct range {
	struct paths paths;
	struct range_sum *sums; /* one sum per path */
	size_t capacity;
	double waits_ticks; /* the time in which waits were watched */
	struct exits_sum exits;
	struct takers_sum takers;
};

/* The range begins at the moment FIRST. Error: out of memory. */
struct xtop_error *range_begin(struct range *range, const struct snapshot *first);
void range_deinit(struct range *range); /* an error may have come before */
/* Adds the growth from the moment BEFORE to MOMENT. Error: out of memory. */
struct xtop_error *range_add(struct range *range, const struct snapshot *before,
			     const struct history_moment *moment);
/*
 * *SNAPSHOTP becomes the sum of all added moments. Its times and counters run from FIRST to LAST.
 * Error: out of memory.
 */
struct xtop_error *range_build(struct range *range, const struct snapshot *first,
			       const struct snapshot *last, struct snapshot **snapshotp);

#endif
