/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which ticks give a sample, and the weight of a sample; see sample_schedule.h. Sampler's thread.
 */
#include "config.h"

#include "sample/sample_schedule.h"

#include <math.h>

#include "xtop/sample/sample.h"

/*
 * Let work on all n vCPUs have as much CPU time as work on a single vCPU. Then one tick of n + 1
 * finds all n vCPUs running. The plan remembers that for SAMPLE_SCHEDULE_ROUNDS times n + 1
 * samples, and for twice as many at most.
 */
#define SAMPLE_SCHEDULE_ROUNDS 6
/* How much one of the most expensive stops changes the expected cost. */
#define SAMPLE_SCHEDULE_LEARN 0.25
/* A stop counts as at most this many times the expected cost. */
#define SAMPLE_SCHEDULE_OUTLIER 2
/* A wait is longer or shorter by at most this share of it. */
#define SAMPLE_SCHEDULE_JITTER 0.25

void sample_schedule_init(struct sample_schedule *plan, unsigned n_vcpus, uint64_t seed)
{
	*plan = (struct sample_schedule){
		.window = SAMPLE_SCHEDULE_ROUNDS * (n_vcpus + 1),
		.owed_ticks = -0.5, /* half of the first tick was before the start */
		.random = seed | 1
	};
}

/* Uniform in [0, 1). Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003). */
static double sample_schedule_random(struct sample_schedule *plan)
{
	plan->random ^= plan->random << 13;
	plan->random ^= plan->random >> 7;
	plan->random ^= plan->random << 17;
	return (double)(plan->random >> 11) * 0x1p-53;
}

static unsigned sample_schedule_most(const struct sample_schedule *plan)
{
	return plan->most_now > plan->most_before ? plan->most_now : plan->most_before;
}

static void sample_schedule_remember(struct sample_schedule *plan, unsigned n)
{
	if (n > plan->most_now)
		plan->most_now = n;
	if (++plan->n_window < plan->window)
		return;
	plan->most_before = plan->most_now;
	plan->most_now = 0;
	plan->n_window = 0;
}

/*
 * Learns from a stop of N vCPUs. The plan depends on the most expensive stops. A stop of few vCPUs
 * tells little about these, and there may be many such stops, so a stop counts by the square of its
 * part of the vCPUs.
 */
static void sample_schedule_learn(struct sample_schedule *plan, unsigned n, uint64_t stopped_ns)
{
	double vcpu_ns = (double)stopped_ns / (n + 1),
	       part = (double)n / sample_schedule_most(plan);

	if (plan->vcpu_ns > 0 && vcpu_ns > SAMPLE_SCHEDULE_OUTLIER * plan->vcpu_ns)
		vcpu_ns = SAMPLE_SCHEDULE_OUTLIER * plan->vcpu_ns;
	if (plan->vcpu_ns > 0)
		vcpu_ns = plan->vcpu_ns +
			  SAMPLE_SCHEDULE_LEARN * part * part * (vcpu_ns - plan->vcpu_ns);
	plan->vcpu_ns = vcpu_ns;
}

void sample_schedule_count(struct sample_schedule *plan, uint64_t n, double earned_ns)
{
	plan->owed_ticks += (double)n;
	plan->wait_ns -= (double)n * earned_ns;
}

bool sample_schedule_is_due(const struct sample_schedule *plan, double earned_ns)
{
	return plan->wait_ns < earned_ns / 2;
}

double sample_schedule_ticks(const struct sample_schedule *plan, double earned_ns)
{
	double ticks = 1;

	if (earned_ns > 0)
		ticks = floor((plan->wait_ns - earned_ns / 2) / earned_ns) + 1;
	return ticks > 1 ? ticks : 1;
}

/*
 * Sets the wait until the next sample. The last wait was rounded to whole ticks; the difference is
 * added to the new one.
 */
static void sample_schedule_wait(struct sample_schedule *plan, double earned_ns)
{
	double cost_ns = plan->vcpu_ns * (sample_schedule_most(plan) + 1), left_ns = plan->wait_ns;

	if (plan->stride > 1)
		cost_ns = fmax(cost_ns, plan->stride * earned_ns);
	left_ns = fmax(left_ns, -earned_ns / 2);
	if (cost_ns > earned_ns)
		cost_ns *= 1 - SAMPLE_SCHEDULE_JITTER +
			   2 * SAMPLE_SCHEDULE_JITTER * sample_schedule_random(plan);
	plan->wait_ns = left_ns + cost_ns;
}

uint32_t sample_schedule_weigh(struct sample_schedule *plan, unsigned n, uint64_t stopped_ns,
			       double earned_ns, double least)
{
	double next, weight;

	sample_schedule_remember(plan, n);
	if (n && stopped_ns)
		sample_schedule_learn(plan, n, stopped_ns);
	sample_schedule_wait(plan, earned_ns);
	next = fmax(sample_schedule_ticks(plan, earned_ns), least);
	weight = (fmax(plan->owed_ticks, 0) + next / 2) * SAMPLE_WEIGHT_TICK;
	weight = weight < UINT32_MAX ? floor(weight + 0.5) : UINT32_MAX;
	plan->owed_ticks -= weight / SAMPLE_WEIGHT_TICK;
	return (uint32_t)weight;
}
