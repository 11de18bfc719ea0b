/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When ticks are due, which of them give a sample, and its weight; see schedule.h. */
#include "config.h"

#include "sample/schedule.h"

#include <math.h>
#include <sys/random.h>
#include <time.h>

#include "xtop/base/clock.h"
#include "xtop/sample/sample.h"

/* --- deadlines at random places --------------------------------------------------------------- */

#define STEP_BITS 29 /* a step of the deadline is below a quarter of a slot */
#define TURN_BITS 4  /* the deadline turns back at one of 16 ticks */

void deadline_init(struct deadline *deadline, uint64_t seed)
{
	*deadline = (struct deadline){ .way = (uint32_t)seed, .random = seed ? seed : 1 };
}

uint64_t deadline_draw_seed(void)
{
	uint64_t seed;

	/* Without the flag the call waits while a dom0 that has just booted has no entropy yet. */
	return getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed) ? seed
									     : clock_now_ns();
}

/* xorshift64* (S. Vigna, "An experimental exploration of Marsaglia's xorshift generators"). */
static uint64_t deadline_draw(struct deadline *deadline)
{
	uint64_t x = deadline->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	deadline->random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* Makes a step; the unsigned number wraps around. Returns the place in the slot. */
static uint64_t deadline_step_ns(struct deadline *deadline)
{
	uint64_t drawn = deadline_draw(deadline);
	uint32_t place;

	if (!(drawn >> (64 - TURN_BITS)))
		deadline->way = -deadline->way;
	deadline->way += drawn >> 8 & ((1 << STEP_BITS) - 1);
	place = deadline->way >> 31 ? -deadline->way : deadline->way;
	return place * deadline->period_ns >> 31;
}

uint64_t deadline_next(struct deadline *deadline, uint64_t period_ns, uint64_t now_ns)
{
	uint64_t missed = 0;

	if (period_ns != deadline->period_ns)
		deadline->slot_ns = now_ns;
	else
		deadline->slot_ns += period_ns;
	deadline->period_ns = period_ns;
	if (now_ns > deadline->slot_ns)
		missed = (now_ns - deadline->slot_ns) / period_ns;
	deadline->slot_ns += missed * period_ns;
	deadline->at_ns = deadline->slot_ns + deadline_step_ns(deadline);
	if (deadline->at_ns >= now_ns)
		return missed;
	deadline->slot_ns += period_ns;
	deadline->at_ns = deadline->slot_ns + deadline_step_ns(deadline);
	return missed + 1;
}

void deadline_skip(struct deadline *deadline, uint64_t n)
{
	deadline->slot_ns += n * deadline->period_ns;
}

/* --- the distance between samples, and their weights ------------------------------------------ */

/*
 * Let work on all n vCPUs have as much CPU time as work on a single vCPU. Then one tick of n + 1
 * finds all n vCPUs running. The schedule remembers that for SAMPLE_SCHEDULE_ROUNDS times n + 1
 * samples, and for twice as many at most.
 */
#define SAMPLE_SCHEDULE_ROUNDS 6
/* How much one of the most expensive stops changes the expected cost. */
#define SAMPLE_SCHEDULE_LEARN 0.25
/* A stop counts as at most this many times the expected cost. */
#define SAMPLE_SCHEDULE_OUTLIER 2
/* A wait is longer or shorter by at most this share of it. */
#define SAMPLE_SCHEDULE_JITTER 0.25

static void sample_schedule_init(struct sample_schedule *schedule, unsigned n_vcpus, uint64_t seed)
{
	*schedule = (struct sample_schedule){
		.window = SAMPLE_SCHEDULE_ROUNDS * (n_vcpus + 1),
		.owed_ticks = -0.5, /* half of the first tick was before the start */
		.random = seed | 1
	};
}

/* Uniform in [0, 1). Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003). */
static double sample_schedule_random(struct sample_schedule *schedule)
{
	schedule->random ^= schedule->random << 13;
	schedule->random ^= schedule->random >> 7;
	schedule->random ^= schedule->random << 17;
	return (double)(schedule->random >> 11) * 0x1p-53;
}

static unsigned sample_schedule_most(const struct sample_schedule *schedule)
{
	return schedule->most_now > schedule->most_before ? schedule->most_now
							  : schedule->most_before;
}

static void sample_schedule_remember(struct sample_schedule *schedule, unsigned n)
{
	if (n > schedule->most_now)
		schedule->most_now = n;
	if (++schedule->n_window < schedule->window)
		return;
	schedule->most_before = schedule->most_now;
	schedule->most_now = 0;
	schedule->n_window = 0;
}

/*
 * Learns from a stop of N vCPUs. The schedule depends on the most expensive stops. A stop of few
 * vCPUs tells little about these, and there may be many such stops, so a stop counts by the square
 * of its part of the vCPUs.
 */
static void sample_schedule_learn(struct sample_schedule *schedule, unsigned n, uint64_t stopped_ns)
{
	double vcpu_ns = (double)stopped_ns / (n + 1),
	       part = (double)n / sample_schedule_most(schedule);

	if (schedule->vcpu_ns > 0 && vcpu_ns > SAMPLE_SCHEDULE_OUTLIER * schedule->vcpu_ns)
		vcpu_ns = SAMPLE_SCHEDULE_OUTLIER * schedule->vcpu_ns;
	if (schedule->vcpu_ns > 0)
		vcpu_ns = schedule->vcpu_ns +
			  SAMPLE_SCHEDULE_LEARN * part * part * (vcpu_ns - schedule->vcpu_ns);
	schedule->vcpu_ns = vcpu_ns;
}

/* N more deadlines have come, or went by unmet. */
static void sample_schedule_count(struct sample_schedule *schedule, uint64_t n, double earned_ns)
{
	schedule->owed_ticks += (double)n;
	schedule->wait_ns -= (double)n * earned_ns;
}

/* Whether it is time for a sample. */
static bool sample_schedule_is_due(const struct sample_schedule *schedule, double earned_ns)
{
	return schedule->wait_ns < earned_ns / 2;
}

/* In how many ticks the next sample is due, at least 1: 1 is the next tick. */
static double sample_schedule_ticks(const struct sample_schedule *schedule, double earned_ns)
{
	double ticks = 1;

	if (earned_ns > 0)
		ticks = floor((schedule->wait_ns - earned_ns / 2) / earned_ns) + 1;
	return ticks > 1 ? ticks : 1;
}

/*
 * Sets the wait until the next sample. The last wait was rounded to whole ticks; the difference is
 * added to the new wait.
 */
static void sample_schedule_wait(struct sample_schedule *schedule, double earned_ns)
{
	double cost_ns = schedule->vcpu_ns * (sample_schedule_most(schedule) + 1),
	       left_ns = schedule->wait_ns;

	if (schedule->stride > 1)
		cost_ns = fmax(cost_ns, schedule->stride * earned_ns);
	left_ns = fmax(left_ns, -earned_ns / 2);
	if (cost_ns > earned_ns)
		cost_ns *= 1 - SAMPLE_SCHEDULE_JITTER +
			   2 * SAMPLE_SCHEDULE_JITTER * sample_schedule_random(schedule);
	schedule->wait_ns = left_ns + cost_ns;
}

/*
 * The weight of a sample; see ticks_weigh(). EARNED_NS: the stopped time that the budget allows for
 * each tick. LEAST: the next sample cannot come before that many ticks.
 */
static uint32_t sample_schedule_weigh(struct sample_schedule *schedule, unsigned n,
				      uint64_t stopped_ns, double earned_ns, double least)
{
	double next, weight;

	sample_schedule_remember(schedule, n);
	if (n && stopped_ns)
		sample_schedule_learn(schedule, n, stopped_ns);
	sample_schedule_wait(schedule, earned_ns);
	next = fmax(sample_schedule_ticks(schedule, earned_ns), least);
	weight = (fmax(schedule->owed_ticks, 0) + next / 2) * SAMPLE_WEIGHT_TICK;
	weight = weight < UINT32_MAX ? floor(weight + 0.5) : UINT32_MAX;
	schedule->owed_ticks -= weight / SAMPLE_WEIGHT_TICK;
	return (uint32_t)weight;
}

/* --- which ticks give a sample ---------------------------------------------------------------- */

#define TICKS_SLOW_LOOK_NS 600000000 /* TICKS_LOOK_NS while the host's budget makes samples rare */
/*
 * The longest sleep without asking whether to quit. The guard's signal ends a sleep sooner. Longer
 * than the time between two slow looks: otherwise each of these would take two wakes.
 */
#define TICKS_NAP_NS 800000000

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

/* Sleeps until UNTIL_NS, or until xtop quits. Returns the time afterwards. */
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
