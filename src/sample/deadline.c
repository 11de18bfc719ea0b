/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deadlines at random places; see deadline.h. Sampler's thread. */
#include "config.h"

#include "sample/deadline.h"

#include <sys/random.h>

#include "xtop/base/clock.h"

#define STEP_BITS 29 /* a quarter of a slot */
#define TURN_BITS 4  /* one of 16 ticks */

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
