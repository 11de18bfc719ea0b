/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of times; see time_histogram.h. */
#include "config.h"

#include "profile/time_histogram.h"

#include <math.h>

void time_histogram_add(struct time_histogram *times, double ns)
{
	double at = ns > 1 ? log2(ns) * TIME_HISTOGRAM_STEPS : 0;

	times->counts[at < TIME_HISTOGRAM_BUCKETS - 1 ? (unsigned)at
						      : TIME_HISTOGRAM_BUCKETS - 1]++;
}

uint64_t time_histogram_quantile(const struct time_histogram *times, double share,
				 uint64_t longest_ns)
{
	uint64_t all = 0, sum = 0, ns;

	for (unsigned i = 0; i < TIME_HISTOGRAM_BUCKETS; i++)
		all += times->counts[i];
	for (unsigned i = 0; i < TIME_HISTOGRAM_BUCKETS; i++) {
		sum += times->counts[i];
		if (!all || (double)sum < share * (double)all)
			continue;
		ns = (uint64_t)exp2((double)(i + 1) / TIME_HISTOGRAM_STEPS);
		return ns < longest_ns ? ns : longest_ns;
	}
	return longest_ns;
}
