/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A histogram of lengths of time, in steps of an eighth of a power of two. Any thread. */
#ifndef XTOP_TIME_HISTOGRAM_H
#define XTOP_TIME_HISTOGRAM_H

#include "xtop/profile/exits.h"

#define TIME_HISTOGRAM_STEPS   8 /* steps in each power of two */
#define TIME_HISTOGRAM_BUCKETS (EXITS_LOG2 * TIME_HISTOGRAM_STEPS)

struct time_histogram {
	uint32_t counts[TIME_HISTOGRAM_BUCKETS];
};

void time_histogram_add(struct time_histogram *times, double ns);
/* The upper end of the bucket in which SHARE of all times is reached; LONGEST_NS bounds it. */
uint64_t time_histogram_quantile(const struct time_histogram *times, double share,
				 uint64_t longest_ns);
/*
 * The longest time: KNOWN_NS, unless a longer one was counted. Then it is the upper end of the last
 * bucket that is not empty, at most 9 % too much.
 */
uint64_t time_histogram_longest(const struct time_histogram *times, uint64_t known_ns);
/* Sets the percentiles and the histogram of WAKES, whose longest wait may be known. */
void time_histogram_sum_up(const struct time_histogram *times, struct exits_wakes *wakes);

#endif
