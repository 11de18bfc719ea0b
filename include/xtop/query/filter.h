/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which stacks count: those with a frame whose name, module or process matches a regular
 * expression, or without such a frame. A filter has one or more parts, and a stack has to pass all:
 *
 *   ^nginx                    a frame matches ^nginx
 *   !idle                     no frame matches idle
 *   ^nginx && !poll && !idle  three parts
 *
 * A filter remembers which frames of a table match. So one thread uses it, with one table of frames
 * at a time.
 */
#ifndef XTOP_FILTER_H
#define XTOP_FILTER_H

#include "xtop/query/weights.h"

#define FILTER_MAX_PARTS 8
#define FILTER_AND       " && " /* separates the parts */

struct filter;

/*
 * A part of TEXT is a POSIX extended regular expression, with '!' before it to exclude. Upper and
 * lower case are the same unless the expression has capitals. Error: says what is wrong.
 */
struct xtop_error *filter_create(const char *text, struct filter **filterp);
/* A filter of one part for filter_matches(); '!' and " && " are characters as others. */
struct xtop_error *filter_create_search(const char *regex, struct filter **filterp);
/* Joins N texts of filters to one, which the caller frees. NULL: out of memory, or N is 0. */
char *filter_join(const char *const *texts, size_t n);
void filter_destroy(struct filter *filter); /* NULL allowed */
/*
 * Call this when a table of frames was destroyed: a new one may get the same address. FILTER may be
 * NULL.
 */
void filter_invalidate(struct filter *filter);
const char *filter_text(const struct filter *filter);
/*
 * Whether FRAME's name, raw name or home (frames_get_home()) matches the first part. The root never
 * does.
 */
bool filter_matches(const struct filter *filter, const struct frames *frames, uint32_t frame);
bool filter_matches_text(const struct filter *filter, const char *text); /* the first part */

/* Returns a bit for each part that FRAME matches; see filter_passes(). */
uint8_t filter_ask(const struct filter *filter, const struct frames *frames, uint32_t frame);
/* Whether a stack passes. MET: all bits that filter_ask() returned for the stack's frames. */
bool filter_passes(const struct filter *filter, uint8_t met);

/* A walk over all nodes in pre-order, which finds the stacks that pass. All zeros at first. */
struct filter_walk {
	/* end of the subtree of the last outermost node that matches the part, by part */
	uint32_t open[FILTER_MAX_PARTS];
};
/* Whether the stack of NODE, the snapshot's next node, passes. INDEX is the node's index. */
bool filter_walk_passes(const struct filter *filter, const struct snapshot *snapshot,
			struct filter_walk *walk, uint32_t index);

/*
 * Filters the nodes of SNAPSHOT: *NODESP has the same nodes at the same indices, but only matching
 * stacks have weight. FILTER NULL: *NODESP is SNAPSHOT's own array and *COPYP is NULL. Otherwise
 * *NODESP is *COPYP, which the caller frees. Error: out of memory.
 */
struct xtop_error *filter_nodes(const struct filter *filter, const struct snapshot *snapshot,
				struct snapshot_node **copyp, const struct snapshot_node **nodesp);
/* The sum over all stacks that pass. Only children are set. */
struct weights filter_weights(const struct filter *filter, const struct snapshot *snapshot);

#endif
