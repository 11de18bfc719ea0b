/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was seen in the last ten minutes: a moment each second, made small. A moment gives back a
 * snapshot that every view and exporter takes, and how each function's share went from moment to
 * moment.
 *
 * Memory is bounded: HISTORY_MOMENTS of at most HISTORY_MOMENT_NODES nodes. Of a larger call tree
 * the lightest subtrees become one [evicted] below the function that called them.
 *
 * One thread's, the UI's. Frames outlive it.
 */
#ifndef XTOP_HISTORY_H
#define XTOP_HISTORY_H

#include "xtop/snapshot.h"

#define HISTORY_MOMENTS 600
#define HISTORY_STEP_NS 1000000000ULL
#define HISTORY_MOMENT_NODES 3000
#define HISTORY_MOMENT_SHARES 400 /* functions whose share is kept */

struct history;

struct xtop_error *history_create(struct history **historyp);
void history_destroy(struct history *history); /* NULL allowed */

/*
 * Of a snapshot that is newer than all before; one that follows within HISTORY_STEP_NS is left out.
 * Out of memory: left out.
 */
void history_note(struct history *history, const struct snapshot *snapshot);

size_t history_count(const struct history *history);
/* Moments by age: 0 is the oldest. */
uint64_t history_sequence(const struct history *history, size_t moment);
/* How old a moment is compared with the newest, on the samples' clock. */
uint64_t history_age_ns(const struct history *history, size_t moment);
/* The first moment whose snapshot is not before SEQUENCE; count: none. */
size_t history_find(const struct history *history, uint64_t sequence);
struct xtop_error *history_get(const struct history *history, size_t moment,
			       struct snapshot **snapshotp);
/*
 * Percents of FRAME (of a group, struct frame) between moments: the last N up to the one of
 * SEQUENCE, oldest first; negative where there was no moment.
 */
void history_shares(const struct history *history, uint64_t sequence, uint32_t frame, size_t n,
		    float *percents);
size_t history_memory_bytes(const struct history *history);

#endif
