/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: when ticks are due, which ticks give a sample, and how many ticks each sample
 * stands for. Times are in ns of CLOCK_MONOTONIC. Nothing here can fail. Sampler's thread.
 *
 * Deadlines. Some work of a guest repeats at the rate of the ticks. Ticks at equal distances would
 * always see that work, or never. So each period differs from the mean at random. Time is cut into
 * slots of one period, and each slot has one deadline. The place of the deadline in its slot
 * wanders up and down between both ends, by random steps:
 *
 *   slot   |         |         |         |         |         |
 *          |    x    |      x  |        x|      x  |    x    |
 *
 * A step is between 0 and a quarter of a slot, and all lengths are equally likely. So a period is
 * the mean ± 25 %, and the number of deadlines in any span is exact to one. The places are spread
 * evenly over the slot. At one of 16 ticks, at random, the place turns back before it has reached
 * the end. Otherwise each way up and down would take nearly 16 ticks, which is a rhythm again.
 *
 * tests/sample/test_deadline.c samples a function that has 40 % of each 1/99 s. After 10 s the
 * standard deviation is 1.6 points at -F 99, 1.8 at -F 100, 2.3 at -F 33 and 4.7 at -F 9; samples
 * at entirely random times would have 1.6, 1.5, 2.7 and 5.2. With independent periods of the mean
 * ± 25 % it would be 3.0 at -F 99.
 *
 * Schedule. The budget alone would distort shares. The more vCPUs run, the more a stop costs. A
 * sampler that stops whenever it has credit takes many samples where stops are cheap, and few where
 * they are expensive. Weights alone do not correct that. A phase may be shorter than the wait after
 * an expensive stop; such a phase is seen at its beginning or not at all, and its length is not
 * known. So the distance between samples must not depend on what the last sample found:
 *
 *   - After each sample the schedule waits as long as it must wait after the most expensive kind of
 *     stop that was seen lately. "Kind" is the number of vCPUs that wanted to run. "Lately" is a
 *     number of samples. The number is so large that work on all vCPUs, with half of the guest's
 *     CPU time, is not forgotten between two of its phases.
 *   - The schedule learns what a stop costs for each vCPU. One stop that takes very long, because
 *     dom0 lost its physical CPU, hardly counts.
 *   - The wait varies by a quarter at random, so that it does not fall in step with the guest.
 *
 * --host-budget makes all guests wait alike: struct sample_schedule's stride sets the shortest
 * wait. The budget stays as the limit (budget.h); the schedule mostly keeps within the budget.
 *
 * Weights. A sample stands for half of the ticks since the last sample and half of the ticks until
 * the next one. The schedule predicts the latter. The next sample corrects a wrong prediction, so
 * the sum of all weights is the number of ticks.
 */
#ifndef SAMPLE_SCHEDULE_H
#define SAMPLE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/sample/budget.h"
#include "xtop/sample/control.h"

#define TICKS_LOOK_NS 100000000 /* between looks at the guest while there are no samples */

struct deadline {
	uint64_t at_ns;              /* when the next tick is due */
	uint64_t slot_ns, period_ns; /* start and length of the current slot */
	/*
	 * The deadline's place in its slot. Numbers below 2^31 are the way up, from the start to
	 * the end of the slot; numbers from 2^31 on are the way back.
	 */
	uint32_t way;
	uint64_t random; /* state of the random numbers; never 0 */
};

/* SEED: any number. The first slot begins with the first call of deadline_next(). */
void deadline_init(struct deadline *deadline, uint64_t seed);
/* Returns a number that the guest cannot guess. */
uint64_t deadline_draw_seed(void);
/*
 * Sets at_ns to the next deadline that is not before NOW_NS. Returns how many earlier deadlines
 * went by unmet; they are not made up for. If PERIOD_NS differs from the last call's, a slot begins
 * now.
 */
uint64_t deadline_next(struct deadline *deadline, uint64_t period_ns, uint64_t now_ns);
/* The next N deadlines will not be met. */
void deadline_skip(struct deadline *deadline, uint64_t n);

struct sample_schedule {
	double vcpu_ns; /* a stop of N vCPUs is expected to take N + 1 times this; 0: not known */
	/* The most vCPUs in one sample: in the last window of samples, and in the current one. */
	unsigned most_before, most_now;
	unsigned n_window, window; /* samples in the current window so far, and in a whole one */
	double stride;     /* ticks from one sample to the next at least; up to 1: no limit */
	double wait_ns;    /* stopped time to earn before the next sample; also negative */
	double owed_ticks; /* ticks that no sample stands for yet; negative: ticks still to come */
	uint64_t random;   /* state of the random numbers; never 0 */
};

struct ticks {
	struct control *control; /* for the rate, the budget, and whether xtop quits */
	struct sampler_counts *counts;
	struct budget budget;
	struct deadline deadline;
	struct sample_schedule schedule;
	double earned_ns;   /* stopped time that the budget allows for each tick */
	uint64_t period_ns; /* the last tick's period */
	uint64_t n_missed;  /* deadlines that went by unmet before the last tick */
	uint64_t woke_ns;   /* when the last tick began */
	bool late;          /* the last tick began more than half a period after its deadline */
};

/* Borrows CONTROL and COUNTS. */
void ticks_init(struct ticks *ticks, struct control *control, struct sampler_counts *counts,
		unsigned n_vcpus);
/* The mean time between two ticks at the rate that is asked for. */
uint64_t ticks_period_ns(const struct ticks *ticks);
/*
 * How many of the next ticks are known to give no sample. They can be slept through, but for no
 * more than about the time between two looks.
 */
uint64_t ticks_find_skipped(const struct ticks *ticks, uint64_t period_ns);
/*
 * Sleeps to the next deadline, before which N_SKIPPED others are skipped. Counts all of these
 * ticks, and returns true. Returns false once xtop quits; the last tick is not counted then.
 */
bool ticks_sleep(struct ticks *ticks, uint64_t period_ns, uint64_t n_skipped);
/* Sleeps until UNTIL_NS, even if xtop quits. */
void ticks_sleep_to(uint64_t until_ns);
/* Adds this tick, and the ticks missed before it, to what the next sample stands for. */
void ticks_plan(struct ticks *ticks);
/* Whether this tick may give a sample. */
bool ticks_may_stop(struct ticks *ticks);
/*
 * A sample of N vCPUs was taken until NOW_NS, and the guest was stopped for STOPPED_NS. N 0: no
 * vCPU ran, and the guest was not stopped. Plans the next sample. Returns the weight of this one
 * (sample.h), at least half a tick.
 */
uint32_t ticks_weigh(struct ticks *ticks, unsigned n, uint64_t stopped_ns, uint64_t now_ns);

#endif
