/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which ticks give a sample, and the weight of a sample; see plan.h. Sampler's thread. */
#include "config.h"

#include "sample/plan.h"

#include <math.h>

#include "xtop/sample/sample.h"

/*
 * Let work on all n vCPUs have as much CPU time as work on a single vCPU. Then one tick of n + 1
 * finds all n vCPUs running. The plan remembers that for PLAN_ROUNDS times n + 1 samples, and for
 * twice as many at most.
 */
#define PLAN_ROUNDS 6
/* How much one of the most expensive stops changes the expected cost. */
#define PLAN_LEARN 0.25
/* A stop counts as at most this many times the expected cost. */
#define PLAN_OUTLIER 2
/* A wait is longer or shorter by at most this share of it. */
#define PLAN_JITTER  0.25

void plan_init(struct plan *plan, unsigned n_vcpus, uint64_t seed)
{
	*plan = (struct plan){ .window = PLAN_ROUNDS * (n_vcpus + 1),
			       .owed_ticks = -0.5, /* half of the first tick was before the start */
			       .random = seed | 1 };
}

/* Uniform in [0, 1). Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003). */
static double plan_random(struct plan *plan)
{
	plan->random ^= plan->random << 13;
	plan->random ^= plan->random >> 7;
	plan->random ^= plan->random << 17;
	return (double)(plan->random >> 11) * 0x1p-53;
}

static unsigned plan_most(const struct plan *plan)
{
	return plan->most_now > plan->most_before ? plan->most_now : plan->most_before;
}

static void plan_remember(struct plan *plan, unsigned n)
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
static void plan_learn(struct plan *plan, unsigned n, uint64_t stopped_ns)
{
	double vcpu_ns = (double)stopped_ns / (n + 1), part = (double)n / plan_most(plan);

	if (plan->vcpu_ns > 0 && vcpu_ns > PLAN_OUTLIER * plan->vcpu_ns)
		vcpu_ns = PLAN_OUTLIER * plan->vcpu_ns;
	if (plan->vcpu_ns > 0)
		vcpu_ns = plan->vcpu_ns + PLAN_LEARN * part * part * (vcpu_ns - plan->vcpu_ns);
	plan->vcpu_ns = vcpu_ns;
}

void plan_count(struct plan *plan, uint64_t n, double earned_ns)
{
	plan->owed_ticks += (double)n;
	plan->wait_ns -= (double)n * earned_ns;
}

bool plan_is_due(const struct plan *plan, double earned_ns)
{
	return plan->wait_ns < earned_ns / 2;
}

double plan_ticks(const struct plan *plan, double earned_ns)
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
static void plan_wait(struct plan *plan, double earned_ns)
{
	double cost_ns = plan->vcpu_ns * (plan_most(plan) + 1), left_ns = plan->wait_ns;

	if (plan->stride > 1)
		cost_ns = fmax(cost_ns, plan->stride * earned_ns);
	left_ns = fmax(left_ns, -earned_ns / 2);
	if (cost_ns > earned_ns)
		cost_ns *= 1 - PLAN_JITTER + 2 * PLAN_JITTER * plan_random(plan);
	plan->wait_ns = left_ns + cost_ns;
}

uint32_t plan_weigh(struct plan *plan, unsigned n, uint64_t stopped_ns, double earned_ns,
		    double least)
{
	double next, weight;

	plan_remember(plan, n);
	if (n && stopped_ns)
		plan_learn(plan, n, stopped_ns);
	plan_wait(plan, earned_ns);
	next = fmax(plan_ticks(plan, earned_ns), least);
	weight = (fmax(plan->owed_ticks, 0) + next / 2) * SAMPLE_WEIGHT_TICK;
	weight = weight < UINT32_MAX ? floor(weight + 0.5) : UINT32_MAX;
	plan->owed_ticks -= weight / SAMPLE_WEIGHT_TICK;
	return (uint32_t)weight;
}
