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

/* The intervals of a guest's samples, or those of its tasks that wait. */
struct publisher_times {
	uint64_t from_ns;  /* when this one began, on the clock of samples; 0: with the first one */
	uint64_t first_ns; /* the first sample of all; 0: none yet */
	uint64_t until_wall_ns; /* end of the interval before; 0: none */
};

struct publisher_guest {
	bool ended;      /* no more will come */
	uint64_t due_ns; /* when the interval ends, on main's clock */
	bool asked;      /* for the interval until then */
	struct publisher_times samples, waits;
	uint64_t lost, refused; /* until then */
	char note[160];         /* the last one that was reported */
};

/* To begin with all zeros but for the first members. */
struct publisher {
	const struct options *options;
	struct pipelines *pipelines;
	const struct filter *filter;
	void (*report)(const char *line);
	struct push_settings settings;
	char host[65], xen[32]; /* "Xen 4.17.7", from session.c; "" not known */
	struct publisher_guest guests[PIPELINES_MAX_GUESTS];
	struct all_guests all;              /* of --all */
	struct metrics_collector collector; /* of --metrics */
	struct host_budget host_budget;
	struct push_status status; /* as it was reported last */
	uint64_t said_ns;          /* when; 0: not yet */
	uint64_t notified_ns;      /* the service manager, of the state */
	uint64_t pushed;           /* profiles, so far */
	struct gzip *gzip;         /* with --push; session.c frees it */
	bool started;
};

/*
 * When an interval of LENGTH_NS began that ends at UNTIL_NS, if the one before has ended at
 * BEFORE_NS (0: there is none). All but the length are since 1970. An interval begins where the one
 * before has ended, so that none overlap, and there is no gap. If somebody has set the clock
 * meanwhile, the interval's length is kept.
 */
uint64_t publisher_begin_ns(uint64_t before_ns, uint64_t until_ns, uint64_t length_ns);
/* Starts the sender, first of all. CACHE: for the spool; NULL: none. */
struct xtop_error *publisher_start(struct publisher *publisher, const char *cache);
/* Until a signal, the time of -T, or the end of all guests. */
struct xtop_error *publisher_run(struct publisher *publisher);
/* When the pipelines have stopped: the last intervals, and what has become of all. */
void publisher_finish(struct publisher *publisher);

#endif
