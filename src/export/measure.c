/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the unit and the scale of exported values; see measure.h. */
#include "config.h"

#include "export/measure.h"

#include <math.h>
#include <string.h>

#define MEASURE_MAX_SUM   0x1p53 /* up to here a double adds whole numbers exactly */
#define MEASURE_MAX_ZEROS 18
#define MEASURE_ERROR     1e-9 /* the most by which a value may differ, relative to it */

/* Whether all weights, times SCALE, are whole numbers, or nearly so. */
static bool measure_is_whole(const struct snapshot *snapshot, double scale)
{
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		double value = snapshot->nodes[i].self_ticks * scale;

		if (fabs(value - nearbyint(value)) > MEASURE_ERROR * value)
			return false;
	}
	return true;
}

/*
 * The smallest power of ten that makes whole numbers of all weights times PER_TICK. If none does,
 * the largest one with an exact sum.
 */
static double measure_find_factor(const struct snapshot *snapshot, double per_tick)
{
	double factor = 1;

	for (int zeros = 0; zeros < MEASURE_MAX_ZEROS &&
			    10 * factor * per_tick * snapshot->total_weight < MEASURE_MAX_SUM;
	     zeros++) {
		if (measure_is_whole(snapshot, factor * per_tick))
			break;
		factor *= 10;
	}
	return factor;
}

static bool measure_is_file(const struct snapshot *snapshot)
{
	return !snapshot->run && !snapshot->waits;
}

double measure_find_ticks_factor(const struct snapshot *snapshot)
{
	return measure_is_file(snapshot) ? measure_find_factor(snapshot, 1) : 1;
}

struct measure measure_find(const struct snapshot *snapshot)
{
	const struct snapshot_value *value = &snapshot->value;
	double hz = snapshot_get_run(snapshot)->sampler.rate_asked_hz;
	struct measure measure = { "cpu", "nanoseconds", 1e9 / (hz > 0 ? hz : 1), 1 };

	if (snapshot->waits) {
		measure.type = "wait";
		measure.per_tick = 1e6;
	} else if (measure_is_file(snapshot)) {
		measure.type = *value->type ? value->type : "weight";
		measure.unit = *value->unit ? value->unit : "count";
		measure.per_tick = value->per_tick > 0 ? value->per_tick : 1;
		measure.factor = measure_find_factor(snapshot, measure.per_tick);
	}
	return measure;
}

uint64_t measure_round(const struct measure *measure, double ticks)
{
	double value = ticks * measure->per_tick * measure->factor;

	return value < 0x1p63 ? (uint64_t)llround(value) : (uint64_t)INT64_MAX;
}

bool measure_is_time(const struct measure *measure)
{
	return strcmp(measure->unit, "nanoseconds") == 0;
}
