/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last ten minutes: one small moment for each second. A moment can be turned back into a
 * snapshot for any view or exporter. The history also tells how a function's share changed from
 * moment to moment.
 *
 * Memory is bounded: HISTORY_MOMENTS moments, each of at most HISTORY_MOMENT_NODES nodes, and
 * HISTORY_GROWN_NODES for what came since the last moment. In a larger call tree the lightest
 * subtrees become one [evicted] below the function that called them. A moment also keeps, of each
 * histogram of times, the buckets that grew: at most 64 KiB in all.
 *
 * One thread at a time: the UI's, or the resolver's in a replay. Frames outlive the history.
 */
#ifndef XTOP_HISTORY_H
#define XTOP_HISTORY_H

#include "xtop/profile/snapshot.h"

#define HISTORY_MOMENTS 600
#define HISTORY_STEP_NS 1000000000ULL
#define HISTORY_MOMENT_NODES 3000
#define HISTORY_GROWN_NODES 1000  /* room for what came since the last moment */
#define HISTORY_MOMENT_SHARES 400 /* functions whose shares are kept */
#define HISTORY_EXITS         32  /* reasons of exits, and functions of each */
#define HISTORY_EXIT_CAUSES   8

struct history;

struct xtop_error *history_create(struct history **historyp);
void history_destroy(struct history *history); /* NULL allowed */

/*
 * Adds a moment made from SNAPSHOT, which is newer than all earlier ones and has no annotation. A
 * snapshot that follows within HISTORY_STEP_NS, or for which there is no memory, is left out.
 */
void history_add(struct history *history, const struct snapshot *snapshot);

/* Moments have numbers: 0 is the oldest. */
size_t history_count(const struct history *history);
/* How much older a moment is than the newest moment, on the samples' clock. */
uint64_t history_age_ns(const struct history *history, size_t moment);
/* The first moment whose snapshot has at least this sequence number; history_count(): none. */
size_t history_find(const struct history *history, uint64_t sequence);
/* The snapshot of a moment. The caller destroys it. Error: out of memory. */
struct xtop_error *history_get(const struct history *history, size_t moment,
			       struct snapshot **snapshotp);
/*
 * The profile of what came after moment FIRST, up to moment LAST > FIRST. Live weights equal ticks.
 * Counters that only grow tell what came in between; other counters, and the lengths of stops, are
 * as LAST has them.
 */
struct xtop_error *history_get_range(const struct history *history, size_t first, size_t last,
				     struct snapshot **snapshotp);
/* The counters of a moment, without nodes. Lives until the next history_add(). */
const struct snapshot *history_head(const struct history *history, size_t moment);
/*
 * The shares of FRAME, a group (struct frame), in percent of the samples between two moments.
 * Writes N numbers, the oldest first; the last one belongs to the moment of SEQUENCE. Negative: no
 * moment, or no sample in it.
 */
void history_shares(const struct history *history, uint64_t sequence, uint32_t frame, size_t n,
		    float *percents);
/* For tests, which check that the limits of HISTORY bound its memory. */
size_t history_memory_bytes(const struct history *history);

#endif
