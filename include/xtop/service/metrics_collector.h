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

/*
 * Time between two texts: STEP, and GUEST more for each guest. A text of 32 guests comes each 10 s.
 */
#define METRICS_COLLECTOR_STEP_NS  2000000000ULL
#define METRICS_COLLECTOR_GUEST_NS 250000000ULL

/* What snapshots of intervals have brought so far. */
struct metrics_collector_guest {
	const struct pipeline *pipeline; /* NULL: the place is free */
	double stacks, truncated, unknown;
	double resolver_cpu_s, profile_bytes;
	struct metrics_functions functions;
	bool has_waits;
	double waiting[N_WAIT_KINDS];
};

/* The caller sets the members up to host; the others begin as zeros. */
struct metrics_collector {
	const struct options *options;
	struct pipelines *pipelines;
	struct metrics *metrics; /* the process that gets the texts */
	void (*report)(const char *line);
	const char *xen;                /* Xen's version; "" if it is not known */
	const struct host_budget *host; /* the budget of all guests; NULL until it is known */
	uint64_t due_ns;
	struct metrics_status status; /* the status that was reported last */
	struct metrics_collector_guest guests[PIPELINES_MAX_GUESTS];
};

/* These functions do nothing without --metrics. */
/* Adds the SNAPSHOT of an interval that has ended, of the guest in place I. */
void metrics_collector_take(struct metrics_collector *collector, size_t i,
			    const struct snapshot *snapshot);
/* Adds the SNAPSHOT of the tasks that waited in an interval, of the guest in place I. */
void metrics_collector_take_waits(struct metrics_collector *collector, size_t i,
				  const struct snapshot *snapshot);
/* Forgets the guest in place I, which is free then. */
void metrics_collector_forget(struct metrics_collector *collector, size_t i);
/* Writes a text if one is due. To be called several times a second. PUSH is NULL without --push. */
void metrics_collector_poll(struct metrics_collector *collector, const struct push_status *push,
			    uint64_t now_ns);

#endif
