/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --metrics: keeps what the intervals of all guests have brought, and hands the text of it over to
 * the process that serves it (metrics.h). Main's thread; publisher.c calls it.
 */
#ifndef XTOP_METRICS_COLLECTOR_H
#define XTOP_METRICS_COLLECTOR_H

#include "xtop/metrics/metrics.h"
#include "xtop/pipeline/pipelines.h"
#include "xtop/service/host_budget.h"
#include "xtop/service/metrics_functions.h"

#define METRICS_COLLECTOR_STEP_NS                                                                  \
	2000000000ULL /* between two texts, and so much more for each guest: */
#define METRICS_COLLECTOR_GUEST_NS 250000000ULL /* a text of 32 guests comes each 10 s */

/* What snapshots of intervals have brought so far. */
struct metrics_collector_guest {
	const struct pipeline *pipeline; /* NULL: the place is free */
	double stacks, truncated, unknown;
	double resolver_cpu_s, profile_bytes;
	struct metrics_functions functions;
	bool has_waits;
	double waiting[N_WAIT_KINDS];
};

/* To begin with all zeros but for the first members. */
struct metrics_collector {
	const struct options *options;
	struct pipelines *pipelines;
	void (*report)(const char *line);
	const char *xen;                /* "": not known */
	const struct host_budget *host; /* NULL: not yet */
	uint64_t due_ns;
	struct metrics_status status; /* as it was reported last */
	struct metrics_collector_guest guests[PIPELINES_MAX_GUESTS];
};

/* An interval of the guest in place I has ended. Without --metrics, nothing; so below. */
void metrics_collector_take(struct metrics_collector *collector, size_t i,
			    const struct snapshot *snapshot);
/* The same of its tasks that wait. */
void metrics_collector_take_waits(struct metrics_collector *collector, size_t i,
				  const struct snapshot *snapshot);
/* The place is free. */
void metrics_collector_forget(struct metrics_collector *collector, size_t i);
/* Several times a second. PUSH NULL: no --push. */
void metrics_collector_turn(struct metrics_collector *collector, const struct push_status *push,
			    uint64_t now_ns);

#endif
