/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of times; see time_histogram.h. */
#include "config.h"

#include "xtop/profile/time_histogram.h"

#include <math.h>
#include <string.h>

static unsigned time_histogram_bucket(double ns)
{
	double at = ns > 1 ? log2(ns) * TIME_HISTOGRAM_STEPS : 0;

	return at < TIME_HISTOGRAM_BUCKETS - 1 ? (unsigned)at : TIME_HISTOGRAM_BUCKETS - 1;
}

static uint64_t time_histogram_end(unsigned bucket)
{
	return (uint64_t)exp2((double)(bucket + 1) / TIME_HISTOGRAM_STEPS);
}

void time_histogram_add(struct time_histogram *times, double ns)
{
	times->counts[time_histogram_bucket(ns)]++;
}

uint64_t time_histogram_longest(const struct time_histogram *times, uint64_t known_ns)
{
	unsigned last = TIME_HISTOGRAM_BUCKETS - 1;

	while (last && !times->counts[last])
		last--;
	/*
	 * The first bucket has times that are not known, such as those of a PV guest's exits.
	 * KNOWN_NS has lost its fraction.
	 */
	return !last || time_histogram_bucket((double)known_ns + 1) >= last
		       ? known_ns
		       : time_histogram_end(last);
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
		ns = time_histogram_end(i);
		return ns < longest_ns ? ns : longest_ns;
	}
	return longest_ns;
}

void time_histogram_sum_up(const struct time_histogram *times, struct exits_wakes *wakes)
{
	uint64_t longest_ns = time_histogram_longest(times, wakes->longest_ns);

	if (longest_ns > wakes->longest_ns)
		wakes->longest_by = UINT32_MAX;
	wakes->longest_ns = longest_ns;
	memset(wakes->log2, 0, sizeof(wakes->log2));
	for (unsigned i = 0; i < TIME_HISTOGRAM_BUCKETS; i++)
		wakes->log2[i / TIME_HISTOGRAM_STEPS] += times->counts[i];
	wakes->p50_ns = time_histogram_quantile(times, 0.5, wakes->longest_ns);
	wakes->p99_ns = time_histogram_quantile(times, 0.99, wakes->longest_ns);
}
