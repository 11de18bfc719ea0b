/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: which ticks give a sample, and how many ticks each sample stands for.
 *
 * The budget alone would bend every share. A stop costs more the more vCPUs run. A sampler that
 * stops whenever it has credit takes many samples where stops are cheap and few where they are
 * dear. Weights alone do not mend that: a phase that is shorter than the wait behind a dear stop
 * is seen at its beginning or not at all, and nobody knows how long it was. So the distance between
 * samples must not depend on what the last sample found:
 *
 *   - The plan waits after each sample as long as it must wait after the dearest kind of stop that
 *     was seen lately. "Kind" is the number of vCPUs that wanted to run. "Lately" is a number of
 *     samples, large enough that work on all vCPUs with half of the guest's CPU time is not
 *     forgotten between two of its phases.
 *   - What a stop costs is learned for each vCPU. One stop that takes very long, because dom0 was
 *     off the processor, hardly counts.
 *   - The wait varies by a quarter at random, so that it does not fall in step with the guest.
 *
 * The budget stays as the limit (budget.h); the plan mostly keeps within it.
 *
 * A sample stands for half of the ticks since the sample before and half of those until the next
 * sample, which the plan knows in advance. What it knew wrongly, the next sample makes good: the
 * sum of all weights is the number of ticks.
 */
#ifndef SAMPLE_PLAN_H
#define SAMPLE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct plan {
	/* What stops cost: a stop of N vCPUs is expected to take N + 1 times vcpu_ns. */
	double vcpu_ns;
	/* The most vCPUs in one sample: in the window of samples before this one, in this one. */
	unsigned most_before, most_now, n_window, window;
	double wait_ns;    /* stopped time to be earned before the next sample; also negative */
	double owed_ticks; /* that no sample stands for; negative: paid for in advance */
	uint64_t random;
};

void plan_init(struct plan *plan, unsigned n_vcpus, uint64_t seed);
/* N more deadlines have come or gone by while the guest ran. EARNED_NS: see plan_weigh(). */
void plan_count(struct plan *plan, uint64_t n, double earned_ns);
/* It is time for a sample. */
bool plan_is_due(const struct plan *plan, double earned_ns);
/* How many ticks it is until the next sample is due, at least 1: 1 is the next tick. */
double plan_ticks(const struct plan *plan, double earned_ns);
/*
 * There is a sample of N vCPUs that were stopped for STOPPED_NS; N 0: none ran, none was stopped.
 * EARNED_NS: the stopped time that the budget allows for each tick. LEAST: the next sample cannot
 * come before that many ticks. Returns the sample's weight (xtop/sample.h), at least half a tick.
 */
uint32_t plan_weigh(struct plan *plan, unsigned n, uint64_t stopped_ns, double earned_ns,
		    double least);

#endif
