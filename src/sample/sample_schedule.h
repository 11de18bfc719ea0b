/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: which ticks give a sample, and how many ticks each sample stands for.
 *
 * The budget alone would distort shares. The more vCPUs run, the more a stop costs. A sampler that
 * stops whenever it has credit takes many samples where stops are cheap, and few where they are
 * expensive. Weights alone do not correct that. A phase may be shorter than the wait after an
 * expensive stop; such a phase is seen at its beginning or not at all, and its length is not known.
 * So the distance between samples must not depend on what the last sample found:
 *
 *   - After each sample the plan waits as long as it must wait after the most expensive kind of
 *     stop that was seen lately. "Kind" is the number of vCPUs that wanted to run. "Lately" is a
 *     number of samples. It is so large that work on all vCPUs, with half of the guest's CPU time,
 *     is not forgotten between two of its phases.
 *   - The plan learns what a stop costs for each vCPU. One stop that takes very long, because dom0
 *     lost its physical CPU, hardly counts.
 *   - The wait varies by a quarter at random, so that it does not fall in step with the guest.
 *
 * --host-budget makes all guests wait alike: the wait is then at least the stopped time that so
 * many ticks earn.
 *
 * The budget stays as the limit (budget.h); the plan mostly keeps within it.
 *
 * A sample stands for half of the ticks since the last sample and half of the ticks until the next
 * one. The plan predicts the latter. The next sample corrects a wrong prediction, so the sum of all
 * weights is the number of ticks. Sampler's thread.
 */
#ifndef SAMPLE_SAMPLE_SCHEDULE_H
#define SAMPLE_SAMPLE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct sample_schedule {
	double vcpu_ns; /* a stop of N vCPUs is expected to take N + 1 times this; 0: not known */
	/* The most vCPUs in one sample: in the last window of samples, and in the current one. */
	unsigned most_before, most_now;
	unsigned n_window, window; /* samples in the current window so far, and in a whole one */
	double stride;             /* a sample at every STRIDE-th tick at most; up to 1: at each */
	double wait_ns;            /* stopped time to earn before the next sample; also negative */
	double owed_ticks; /* for which no sample stands yet; negative: ticks still to come */
	uint64_t random;
};

void sample_schedule_init(struct sample_schedule *plan, unsigned n_vcpus, uint64_t seed);
/* N more deadlines have come, or went by unmet. EARNED_NS: see sample_schedule_weigh(). */
void sample_schedule_count(struct sample_schedule *plan, uint64_t n, double earned_ns);
/* Whether it is time for a sample. */
bool sample_schedule_is_due(const struct sample_schedule *plan, double earned_ns);
/* In how many ticks the next sample is due, at least 1: 1 is the next tick. */
double sample_schedule_ticks(const struct sample_schedule *plan, double earned_ns);
/*
 * A sample of N vCPUs was taken, and the guest was stopped for STOPPED_NS. N 0: no vCPU ran, and
 * the guest was not stopped. EARNED_NS: the stopped time that the budget allows for each tick.
 * LEAST: the next sample cannot come before that many ticks. Returns the sample's weight
 * (sample.h), at least half a tick.
 */
uint32_t sample_schedule_weigh(struct sample_schedule *plan, unsigned n, uint64_t stopped_ns,
			       double earned_ns, double least);

#endif
