/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which stacks count: those with a frame whose name, module or process matches a regular
 * expression.
 *
 * A filter remembers which frames of a table match. So one thread uses it, with one table of frames
 * at a time.
 */
#ifndef XTOP_FILTER_H
#define XTOP_FILTER_H

#include "xtop/query/weights.h"

struct filter;

/*
 * REGEX is a POSIX extended regular expression. Upper and lower case are the same unless REGEX has
 * capitals. Error: says what is wrong with REGEX.
 */
struct xtop_error *filter_create(const char *regex, struct filter **filterp);
void filter_destroy(struct filter *filter); /* NULL allowed */
/*
 * Call this when a table of frames was destroyed: a new one may get the same address. FILTER may be
 * NULL.
 */
void filter_invalidate(struct filter *filter);
const char *filter_text(const struct filter *filter); /* REGEX */
/* Whether FRAME's name, raw name or home (frames_get_home()) matches. The root never does. */
bool filter_matches(const struct filter *filter, const struct frames *frames, uint32_t frame);
bool filter_matches_text(const struct filter *filter, const char *text);

/*
 * Filters the nodes of SNAPSHOT: *NODESP has the same nodes at the same indices, but only matching
 * stacks have weight. FILTER NULL: *NODESP is SNAPSHOT's own array and *COPYP is NULL. Otherwise
 * *NODESP is *COPYP, which the caller frees. Error: out of memory.
 */
struct xtop_error *filter_nodes(const struct filter *filter, const struct snapshot *snapshot,
				struct snapshot_node **copyp, const struct snapshot_node **nodesp);
/* The sum over all stacks that have a matching frame. Only children are set. */
struct weights filter_weights(const struct filter *filter, const struct snapshot *snapshot);

#endif
