/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: which ticks give a sample, and how many ticks each sample stands for.
 * Sampler's thread.
 *
 * Most ticks give no sample when a stop costs more than the budget earns in a tick. Time is cut
 * into strata of whole ticks. One tick of each stratum gives a sample, at random, and the sample
 * stands for all ticks of the stratum:
 *
 *   stratum  |   x     |     x|x  |            x      |  x |
 *   weight        10        7   4           20           5
 *
 * The length of a stratum is fixed before it begins. It may depend on everything that earlier
 * samples have found, and the shares stay unbiased all the same: what the sample of a stratum finds
 * changes neither where the sample lies nor what it weighs. (A sampler that stops whenever it has
 * credit takes many samples where stops are cheap. If a sample stands for the time until the next
 * sample, a short phase of expensive stops is seen when it begins, and counts for the whole wait
 * after the stop.)
 *
 * A stratum is as long as the longest of these:
 *
 *   - What a stop costs in the mean, divided by what a tick earns. "Mean" is over the last
 *     STRATA_MEAN_S, so that phases of seconds hardly change the rate. Budget that is left over
 *     or overdrawn changes the length slowly.
 *   - If samples cost as much as the last ones, the budget lasts for the next seconds, and leaves
 *     room for stops of all vCPUs. Otherwise the budget would refuse a stop at the tick that was
 *     drawn, just when stops are costly, and such work would be seen too seldom.
 *   - The stride: --host-budget makes all guests wait alike.
 *
 * A stop reads at most so many vCPUs that it takes STRATA_PART of the budget of BUDGET_SPAN_NS. The
 * vCPUs that are left out are chosen at random among those that run, and the vCPUs that are read
 * stand for them. So even a stop in a guest with many vCPUs is small, and little room must be left
 * for it. A smaller part would leave still less unused, but fewer stacks of parallel work would be
 * read.
 *
 * Ticks without a sample, because dom0 did not run or the resolver was behind, are owed. The next
 * samples stand for owed ticks, too, but no sample stands for more owed ticks than for ticks of its
 * own stratum. Owed ticks beyond STRATA_OWED_S are given up. After a stop that took all of the
 * budget, a stratum may be much longer than the others. Such a stratum owes the ticks that are too
 * many for its sample: otherwise this sample would rule the profile.
 */
#ifndef SAMPLE_STRATA_H
#define SAMPLE_STRATA_H

#include <stdint.h>

#include "xtop/sample/budget.h"

/* What the length of strata depends on, beside the samples. */
struct strata_limits {
	double share;       /* the budget, 0..1 */
	double stride;      /* shortest length of a stratum, in ticks; up to 1: no limit */
	uint64_t period_ns; /* mean time between ticks */
};

struct strata {
	unsigned n_vcpus;
	unsigned most; /* vCPUs that the next stop reads at most; the rest is left out at random */
	double vcpu_ns;     /* a stop of N vCPUs is expected to take N + 1 times this */
	double costly_ns;     /* a costly stop of N vCPUs takes N + 1 times this */
	unsigned n_learned; /* stops that were seen, up to one more than STRATA_LEARN */
	/*
	 * A sample has as many parts as vCPUs, plus 1; a sample without a stop has 0 parts. These
	 * are the mean over the ticks of the last seconds, and the mean over the last few samples.
	 */
	double parts, recent_parts;
	double n_ticks;    /* ticks over which `parts` is the mean */
	double even;       /* ticks of a stratum that spends in the mean what is earned */
	double balance_ns; /* stopped time that was earned and not spent */
	uint64_t length;   /* ticks of the current stratum */
	uint64_t wait;     /* ticks until the stratum's sample; 0: the sample is due now */
	uint64_t late;     /* ticks since the stratum's sample was due */
	uint64_t rest;     /* ticks of the stratum after its sample */
	uint64_t owed;     /* ticks of earlier strata that no sample stands for yet */
	uint64_t given_up; /* ticks that were owed, and for which no sample stands */
	uint64_t random;   /* state of the random numbers; never 0 */
};

void strata_init(struct strata *strata, unsigned n_vcpus, uint64_t seed);
/* N more deadlines have come, or went by unmet. */
void strata_count(struct strata *strata, uint64_t n);
/* A random number, uniform in [0, 1). */
double strata_random(struct strata *strata);
/* How long the next stop may take: a costly stop of as many vCPUs as a stop may read. */
double strata_stop_ns(const struct strata *strata);
/*
 * Gives the stratum its sample, which has N vCPUs and has stopped the guest for STOPPED_NS. BUDGET
 * has counted this time already. N 0: no vCPU ran, and the guest was not stopped. Chooses the next
 * stratum. Returns for how many ticks the sample stands.
 */
uint64_t strata_sample(struct strata *strata, unsigned n, uint64_t stopped_ns,
		       const struct budget *budget, const struct strata_limits *limits);

#endif
