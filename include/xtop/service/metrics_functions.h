/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions of a guest become metrics: each name is a series that Prometheus keeps, and the
 * guest chooses its names. So a guest has METRICS_MAX_FUNCTIONS places. A function that is among
 * the METRICS_COLLECTOR_TOP of an interval takes a place, and keeps the place for
 * METRICS_COLLECTOR_KEEP_NS after it was among these last. While no place is free, further
 * functions count as "[others]". So a guest makes at most METRICS_MAX_FUNCTIONS series more in
 * METRICS_COLLECTOR_KEEP_NS, whatever it does. Main's thread.
 */
#ifndef XTOP_METRICS_FUNCTIONS_H
#define XTOP_METRICS_FUNCTIONS_H

#include "xtop/export/metrics_text.h"
#include "xtop/profile/snapshot.h"

#define METRICS_COLLECTOR_TOP     10
#define METRICS_COLLECTOR_KEEP_NS 3600000000000ULL

/* All zeros at the start. */
struct metrics_functions {
	size_t n;
	struct metrics_function functions[METRICS_MAX_FUNCTIONS];
	uint64_t top_ns[METRICS_MAX_FUNCTIONS]; /* time when the function was last a top one */
	double rest;                            /* the ratio of all other functions */
};

/* Adds the SNAPSHOT of an interval. Changes nothing if there is no memory. */
void metrics_functions_update(struct metrics_functions *functions, const struct snapshot *snapshot,
			      uint64_t now_ns);

#endif
