/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When ticks are due, and which of them give a sample; see schedule.h. */
#include "config.h"

#include "sample/schedule.h"

#include <sys/random.h>
#include <time.h>

#include "xtop/base/clock.h"
#include "xtop/sample/sample.h"

/* --- deadlines at random places --------------------------------------------------------------- */

#define STEP_BITS 29 /* a step of the deadline is below a quarter of a slot */
#define TURN_BITS 4  /* the deadline turns back at one of 16 ticks */

void deadline_init(struct deadline *deadline, uint64_t seed)
{
	*deadline = (struct deadline){ .phase = (uint32_t)seed, .random = seed ? seed : 1 };
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
		deadline->phase = -deadline->phase;
	deadline->phase += drawn >> 8 & ((1 << STEP_BITS) - 1);
	place = deadline->phase >> 31 ? -deadline->phase : deadline->phase;
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

/* --- which ticks give a sample ---------------------------------------------------------------- */

#define TICKS_SLOW_LOOK_NS 600000000 /* time between looks while --host-budget makes samples rare */
/*
 * The longest sleep without asking whether to quit. The guard's signal ends a sleep sooner. This
 * sleep is longer than the time between two slow looks: otherwise each slow look would take two
 * wakes.
 */
#define TICKS_NAP_NS 800000000

void ticks_init(struct ticks *ticks, struct control *control, struct sampler_counts *counts,
		unsigned n_vcpus)
{
	uint64_t now_ns = clock_now_ns();

	*ticks = (struct ticks){ .control = control, .counts = counts };
	budget_init(&ticks->budget, now_ns);
	strata_init(&ticks->strata, n_vcpus, now_ns);
	deadline_init(&ticks->deadline, deadline_draw_seed());
}

uint64_t ticks_period_ns(const struct ticks *ticks)
{
	return (uint64_t)(1e9 / control_get_rate(ticks->control));
}

uint64_t ticks_find_skipped(const struct ticks *ticks, uint64_t period_ns)
{
	uint64_t look_ns = ticks->limits.stride > 1 ? TICKS_SLOW_LOOK_NS : TICKS_LOOK_NS,
		 ahead = ticks->strata.wait, most;

	if (ahead == 1)
		return 0;
	most = look_ns / period_ns;
	if (ahead)
		ahead--;
	else if (!budget_may_allow(&ticks->budget, ticks->limits.share,
				   strata_stop_ns(&ticks->strata)))
		ahead = BUDGET_SLOT_NS / period_ns;
	return ahead < most ? ahead : most;
}

void ticks_plan(struct ticks *ticks)
{
	ticks->limits = (struct strata_limits){ .share = control_get_budget(ticks->control),
						.stride = control_get_stride(ticks->control),
						.period_ns = ticks->period_ns };
	strata_count(&ticks->strata, 1 + ticks->n_missed);
}

uint64_t ticks_wait_ns(const struct ticks *ticks)
{
	return ticks->strata.wait * ticks->period_ns;
}

bool ticks_may_stop(struct ticks *ticks)
{
	/* The budget is asked at each tick: budget_spend() counts as of the last question. */
	return budget_allows(&ticks->budget, ticks->limits.share, strata_stop_ns(&ticks->strata),
			     ticks->woke_ns) &&
	       !ticks->strata.wait;
}

unsigned ticks_most_vcpus(const struct ticks *ticks)
{
	return ticks->strata.most;
}

bool ticks_choose(struct ticks *ticks, unsigned n_chosen, unsigned n)
{
	return strata_random(&ticks->strata) * n < n_chosen;
}

uint32_t ticks_weigh(struct ticks *ticks, unsigned n, uint64_t stopped_ns)
{
	uint64_t given_up = ticks->strata.given_up;
	uint64_t weight =
		strata_sample(&ticks->strata, n, stopped_ns, &ticks->budget, &ticks->limits);

	ticks->counts->given_up += ticks->strata.given_up - given_up;
	weight *= SAMPLE_WEIGHT_TICK;
	return weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
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
 * Counts N ticks before the deadline, which were skipped. If the sleep ended because xtop quits,
 * some of these ticks have not come.
 */
static void ticks_count_skipped(struct ticks *ticks, uint64_t n)
{
	uint64_t now_ns = ticks->woke_ns, at_ns = ticks->deadline.at_ns, ahead;

	if (!n)
		return;
	ahead = now_ns < at_ns ? (at_ns - now_ns) / ticks->period_ns : 0;
	n -= ahead < n ? ahead : n;
	strata_count(&ticks->strata, n);
	ticks->counts->ticks += n;
	ticks->counts->skipped_budget += n;
}

bool ticks_sleep(struct ticks *ticks, uint64_t now_ns, uint64_t period_ns, uint64_t n_skipped)
{
	struct deadline *deadline = &ticks->deadline;

	ticks->period_ns = period_ns;
	deadline->slot_ns += n_skipped * deadline->period_ns;
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
