/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --push: at the end of each interval takes the profile of each guest, writes it as pprof, and
 * hands it over to the sender (push.h), and to --metrics (metrics_collector.h). No screen; lines
 * about what happens go to REPORT. Main's thread.
 */
#ifndef XTOP_PUBLISHER_H
#define XTOP_PUBLISHER_H

#include "xtop/pipeline/pipelines.h"
#include "xtop/service/all_guests.h"
#include "xtop/service/delivery.h"
#include "xtop/service/host_share.h"
#include "xtop/service/push_interval.h"
#include "xtop/service/metrics_collector.h"

struct publisher_guest {
	bool ended;      /* no more samples will come */
	uint64_t due_ns; /* time when the interval ends, on main's clock */
	bool asked;      /* the resolver was asked for the interval's snapshot */
	struct push_interval_times samples, waits;
	uint64_t lost, refused; /* the sampler's counters at the end of the interval before */
	char note[160];         /* the last note that was reported */
};

/* The caller sets the members up to report; the others begin as zeros. */
struct publisher {
	const struct options *options;
	struct pipelines *pipelines;
	void (*report)(const char *line);
	struct push_settings settings;
	struct push_intervals push; /* the caller sets its filter */
	struct metrics *metrics;    /* the process of --metrics; NULL: none */
	char host[65]; /* dom0's name */
	char xen[32];  /* "Xen 4.17.7", set by session.c; "" if it is not known */
	struct publisher_guest guests[PIPELINES_MAX_GUESTS];
	struct all_guests all;              /* the guests of --all */
	struct metrics_collector collector; /* the numbers of --metrics */
	struct host_budget host_budget;
	struct delivery delivery;
	uint64_t notified_ns; /* time when the service manager was told the state last */
	uint64_t alive_ns;    /* time of the last sign of life for the service manager; 0: none */
	bool started;
};

/* Starts the sender, before anything is opened. CACHE has the spool; NULL: there is no spool. */
struct xtop_error *publisher_start(struct publisher *publisher, const char *cache);
/* Publishes until a signal comes, the time of -T is over, or all guests have ended. */
struct xtop_error *publisher_run(struct publisher *publisher);
/*
 * After the pipelines have stopped: publishes the last intervals, and reports what became of all.
 */
void publisher_finish(struct publisher *publisher);

#endif
