/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the numbers of a written profile measure: CPU time for a run, waiting time for its waits.
 * For a profile that was read from a file they are the file's kind of value, or counts. Main's
 * thread.
 */
#ifndef EXPORT_MEASURE_H
#define EXPORT_MEASURE_H

#include "xtop/profile/snapshot.h"

struct measure {
	const char *type, *unit; /* "cpu", "nanoseconds", as pprof names them; live as long as the
				    snapshot */
	double per_tick;         /* what a tick stands for, in the unit */
	/*
	 * A power of ten, by which values are multiplied in files with whole numbers. It is 1 for a
	 * run, and if all values are whole numbers.
	 */
	double factor;
};

struct measure measure_find(const struct snapshot *snapshot);
/* The factor by which ticks become whole numbers, instead of values in a unit. */
double measure_find_ticks_factor(const struct snapshot *snapshot);
/* The whole number that a file has for TICKS. */
uint64_t measure_round(const struct measure *measure, double ticks);
bool measure_is_time(const struct measure *measure);

#endif
