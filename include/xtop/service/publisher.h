/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --push: at the end of each interval takes the profile of each guest, writes it as pprof, and
 * hands it over to the sender (push.h), and to --metrics (metrics_collector.h). No screen; lines
 * about what happens go to REPORT. Main's thread.
 */
#ifndef XTOP_PUBLISHER_H
#define XTOP_PUBLISHER_H

#include "xtop/pipeline/pipelines.h"
#include "xtop/push/push.h"
#include "xtop/query/filter.h"
#include "xtop/service/all_guests.h"
#include "xtop/service/host_share.h"
#include "xtop/service/metrics_collector.h"

/* The times of a guest's intervals. Samples and waiting tasks have intervals of their own. */
struct publisher_times {
	/* when this interval began, on the samples' clock; 0: at the first sample */
	uint64_t from_ns;
	uint64_t first_ns;      /* time of the very first sample; 0: none yet */
	uint64_t until_wall_ns; /* end of the interval before, since 1970; 0: there was none */
};

struct publisher_guest {
	bool ended;      /* no more samples will come */
	uint64_t due_ns; /* when the interval ends, on main's clock */
	bool asked;      /* the resolver was asked for the interval's snapshot */
	struct publisher_times samples, waits;
	uint64_t lost, refused; /* the sampler's counters at the end of the interval before */
	char note[160];         /* the last note that was reported */
};

/* The caller sets the members up to report; the others begin as zeros. */
struct publisher {
	const struct options *options;
	struct pipelines *pipelines;
	const struct filter *filter;
	void (*report)(const char *line);
	struct push_settings settings;
	struct push *push;       /* the sender of --push; NULL: none */
	struct metrics *metrics; /* the process of --metrics; NULL: none */
	char host[65]; /* dom0's name */
	char xen[32];  /* "Xen 4.17.7", set by session.c; "" if it is not known */
	struct publisher_guest guests[PIPELINES_MAX_GUESTS];
	struct all_guests all;              /* the guests of --all */
	struct metrics_collector collector; /* the numbers of --metrics */
	struct host_budget host_budget;
	struct push_status status; /* the sender's status that was reported last */
	uint64_t said_ns;          /* when that status was reported; 0: never */
	uint64_t notified_ns;      /* when the service manager was told the state last */
	uint64_t pushed;           /* profiles handed to the sender so far */
	struct gzip *gzip;         /* compresses with --push; session.c frees it */
	bool started;
};

/*
 * When the interval began that ends at UNTIL_NS and has LENGTH_NS. BEFORE_NS is the end of the
 * interval before, or 0. Times are since 1970. An interval begins where the interval before has
 * ended, so that there is neither overlap nor gap. If somebody has set the clock meanwhile, the
 * interval's length is kept.
 */
uint64_t publisher_begin_ns(uint64_t before_ns, uint64_t until_ns, uint64_t length_ns);
/* Starts the sender, before anything is opened. CACHE has the spool; NULL: there is no spool. */
struct xtop_error *publisher_start(struct publisher *publisher, const char *cache);
/* Publishes until a signal comes, the time of -T is over, or all guests have ended. */
struct xtop_error *publisher_run(struct publisher *publisher);
/*
 * After the pipelines have stopped: publishes the last intervals, and reports what became of all.
 */
void publisher_finish(struct publisher *publisher);

#endif
