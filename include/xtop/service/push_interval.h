/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The intervals of one guest for --push: at the end of each interval its profile is written as
 * pprof and handed to the sender (push.h). Main's thread.
 */
#ifndef XTOP_PUSH_INTERVAL_H
#define XTOP_PUSH_INTERVAL_H

#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/cli/options.h"
#include "xtop/pipeline/pipeline.h"
#include "xtop/push/push.h"
#include "xtop/query/filter.h"

/* The times of a guest's intervals. Samples and waiting tasks have intervals of their own. */
struct push_interval_times {
	/* start of this interval, on the samples' clock; 0: at the first sample */
	uint64_t from_ns;
	uint64_t first_ns;      /* time of the very first sample; 0: none yet */
	uint64_t until_wall_ns; /* end of the interval before, since 1970; 0: there was none */
};

/* Where profiles go, and how they are written. */
struct push_intervals {
	const struct options *options;
	const struct filter *filter;
	struct line_client *lines; /* reads source lines; NULL without --lines */
	struct gzip *gzip; /* compresses with --push; session.c frees it */
	struct push *push; /* the sender of --push; NULL: none */
	uint64_t pushed;   /* profiles handed to the sender so far */
};

/*
 * When the interval began that ends at UNTIL_NS and has LENGTH_NS. BEFORE_NS is the end of the
 * interval before, or 0. Times are since 1970. An interval begins where the interval before has
 * ended, so that there is neither overlap nor gap. If somebody has set the clock meanwhile, the
 * interval's length is kept.
 */
uint64_t push_interval_begin_ns(uint64_t before_ns, uint64_t until_ns, uint64_t length_ns);
/* Sets when the first interval begins. Call it with each SNAPSHOT. */
void push_interval_begin(struct push_interval_times *times, const struct snapshot *snapshot);
/* Publishes SNAPSHOT, whose interval has ended. An interval without samples is no profile. */
struct xtop_error *push_interval_end(struct push_intervals *push, struct push_interval_times *times,
				     const struct pipeline *pipeline, struct snapshot *snapshot);

#endif
