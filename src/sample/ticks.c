/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When ticks come and which of them give a sample; see ticks.h. */
#include "config.h"

#include "sample/ticks.h"

#include <math.h>
#include <time.h>

#include "xtop/base/clock.h"

#define TICKS_SLOW_LOOK_NS 600000000 /* TICKS_LOOK_NS while the host's budget makes samples rare */
/*
 * The longest sleep without asking whether to quit. The guard's signal ends it sooner. Longer than
 * the time between two slow looks, or each would take two wakes.
 */
#define TICKS_NAP_NS       800000000

void ticks_init(struct ticks *ticks, struct control *control, struct sampler_counts *counts,
		unsigned n_vcpus)
{
	uint64_t now_ns = clock_now_ns();

	*ticks = (struct ticks){ .control = control, .counts = counts };
	budget_init(&ticks->budget, now_ns);
	sample_schedule_init(&ticks->schedule, n_vcpus, now_ns);
	deadline_init(&ticks->deadline, deadline_draw_seed());
}

uint64_t ticks_period_ns(const struct ticks *ticks)
{
	return (uint64_t)(1e9 / control_get_rate(ticks->control));
}

/* --- which ticks give a sample ---------------------------------------------------------------- */

/* In how many ticks the budget has earned what was overdrawn, at least 1. */
static double ticks_to_earn(const struct ticks *ticks)
{
	double overdrawn_ns = -ticks->budget.credit_ns;

	return overdrawn_ns >= 0 && ticks->earned_ns > 0
		       ? floor(overdrawn_ns / ticks->earned_ns) + 1
		       : 1;
}

uint64_t ticks_find_skipped(const struct ticks *ticks, uint64_t period_ns)
{
	/* A deadline may come early in its slot. One more tick then finds the budget earned. */
	double earning = ticks_to_earn(ticks) - 2;
	double ahead = fmax(sample_schedule_ticks(&ticks->schedule, ticks->earned_ns) - 1, earning);
	uint64_t look_ns = ticks->schedule.stride > 1 ? TICKS_SLOW_LOOK_NS : TICKS_LOOK_NS;
	uint64_t most = look_ns / period_ns;

	return ahead < (double)most ? (uint64_t)ahead : most;
}

void ticks_plan(struct ticks *ticks)
{
	ticks->earned_ns = control_get_budget(ticks->control) * (double)ticks->period_ns;
	ticks->schedule.stride = control_get_stride(ticks->control);
	sample_schedule_count(&ticks->schedule, 1 + ticks->n_missed, ticks->earned_ns);
}

bool ticks_may_stop(struct ticks *ticks)
{
	return sample_schedule_is_due(&ticks->schedule, ticks->earned_ns) &&
	       budget_allows(&ticks->budget, control_get_budget(ticks->control), ticks->woke_ns);
}

/*
 * In how many ticks the next sample can come at the earliest. The budget has to earn what was
 * overdrawn, and deadlines may have gone by since the last one.
 */
static double ticks_find_least(const struct ticks *ticks, uint64_t now_ns)
{
	double passed_ns = (double)now_ns - (double)ticks->deadline.at_ns;

	return fmax(ticks_to_earn(ticks), ceil(passed_ns / (double)ticks->period_ns));
}

uint32_t ticks_weigh(struct ticks *ticks, unsigned n, uint64_t stopped_ns, uint64_t now_ns)
{
	return sample_schedule_weigh(&ticks->schedule, n, stopped_ns, ticks->earned_ns,
				     ticks_find_least(ticks, now_ns));
}

/* --- sleeping --------------------------------------------------------------------------------- */

void ticks_sleep_to(uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / 1000000000),
		.tv_nsec = (long)(until_ns % 1000000000),
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Returns the time afterwards. */
static uint64_t ticks_nap(const struct ticks *ticks, uint64_t now_ns, uint64_t until_ns)
{
	while (now_ns < until_ns && !control_is_quitting(ticks->control)) {
		ticks_sleep_to(until_ns - now_ns < TICKS_NAP_NS ? until_ns : now_ns + TICKS_NAP_NS);
		now_ns = clock_now_ns();
	}
	return now_ns;
}

/*
 * Counts N ticks before the deadline, which were skipped. When the sleep was ended, because xtop
 * quits, some of them have not come.
 */
static void ticks_count_skipped(struct ticks *ticks, uint64_t n)
{
	uint64_t now_ns = ticks->woke_ns, at_ns = ticks->deadline.at_ns;
	uint64_t ahead = now_ns < at_ns ? (at_ns - now_ns) / ticks->period_ns : 0;

	n -= ahead < n ? ahead : n;
	sample_schedule_count(&ticks->schedule, n, ticks->earned_ns);
	ticks->counts->ticks += n;
	ticks->counts->skipped_budget += n;
}

bool ticks_sleep(struct ticks *ticks, uint64_t period_ns, uint64_t n_skipped)
{
	struct deadline *deadline = &ticks->deadline;
	uint64_t now_ns = clock_now_ns();

	ticks->period_ns = period_ns;
	deadline_skip(deadline, n_skipped);
	ticks->n_missed = deadline_next(deadline, period_ns, now_ns);
	ticks->counts->missed += ticks->n_missed;
	control_set_next(ticks->control, deadline->at_ns);
	ticks->woke_ns = ticks_nap(ticks, now_ns, deadline->at_ns);
	ticks_count_skipped(ticks, n_skipped);
	if (control_is_quitting(ticks->control))
		return false;
	ticks->late = ticks->woke_ns > deadline->at_ns + period_ns / 2;
	ticks->counts->ticks++;
	ticks->counts->late += ticks->late;
	return true;
}
