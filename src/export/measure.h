/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the numbers of a written profile are. A run has CPU time, its waits have time of waiting. A
 * profile file that was read has its own kind of value, or only counts. Main's thread.
 */
#ifndef EXPORT_MEASURE_H
#define EXPORT_MEASURE_H

#include "xtop/profile/snapshot.h"

struct measure {
	const char *type, *unit; /* "cpu", "nanoseconds", as pprof names them; live as long as the
				    snapshot */
	double per_tick;         /* what a tick stands for, in the unit */
	/*
	 * Files with whole numbers have so many times the value: a power of ten. It is 1 for a run,
	 * and where all values are whole numbers.
	 */
	double factor;
};

struct measure measure_find(const struct snapshot *snapshot);
/* The factor by which ticks become whole numbers, instead of values in a unit. */
double measure_find_ticks_factor(const struct snapshot *snapshot);
/* The whole number for TICKS. */
uint64_t measure_round(const struct measure *measure, double ticks);
bool measure_is_time(const struct measure *measure);

#endif
