/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: when ticks are due, and which of them give a sample (strata.h). Times are in
 * ns of CLOCK_MONOTONIC. Nothing here can fail. Sampler's thread.
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
 */
#ifndef SAMPLE_SCHEDULE_H
#define SAMPLE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/strata.h"
#include "xtop/sample/budget.h"
#include "xtop/sample/control.h"

#define TICKS_LOOK_NS 100000000 /* time between looks at the guest while there are no samples */

struct deadline {
	uint64_t at_ns;              /* time when the next tick is due */
	uint64_t slot_ns, period_ns; /* start and length of the current slot */
	/*
	 * The deadline's place in its slot, and in which direction the place moves. Below 2^31 the
	 * place moves from the slot's start to its end; from 2^31 on it moves back.
	 */
	uint32_t phase;
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

struct ticks {
	struct control *control; /* tells rate and budget, and whether xtop quits */
	struct sampler_counts *counts;
	struct budget budget;
	struct deadline deadline;
	struct strata strata;
	struct strata_limits limits;
	uint64_t period_ns; /* the last tick's period */
	uint64_t n_missed;  /* deadlines that went by unmet before the last tick */
	uint64_t woke_ns;   /* time when the last tick began */
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
 * Sleeps to the next deadline after NOW_NS, before which N_SKIPPED deadlines are skipped. NOW_NS
 * may be some microseconds old: each reading of a clock may be a system call. Counts all of these
 * ticks, and returns true. Returns false once xtop quits; the last tick is not counted then.
 */
bool ticks_sleep(struct ticks *ticks, uint64_t now_ns, uint64_t period_ns, uint64_t n_skipped);
/* Sleeps until UNTIL_NS, even if xtop quits. */
void ticks_sleep_to(uint64_t until_ns);
/* Adds this tick, and the ticks missed before it, to what the next sample stands for. */
void ticks_plan(struct ticks *ticks);
/* How long it is at least until the next sample. */
uint64_t ticks_wait_ns(const struct ticks *ticks);
/* Whether this tick may give a sample. */
bool ticks_may_stop(struct ticks *ticks);
/* How many vCPUs the next stop reads at most. */
unsigned ticks_most_vcpus(const struct ticks *ticks);
/* Whether the next of N elements is among the N_CHOSEN that are chosen at random. */
bool ticks_choose(struct ticks *ticks, unsigned n_chosen, unsigned n);
/*
 * A sample of N vCPUs was taken, and the guest was stopped for STOPPED_NS. N 0: no vCPU ran, and
 * the guest was not stopped. Chooses the next stratum. Returns the sample's weight (sample.h).
 */
uint32_t ticks_weigh(struct ticks *ticks, unsigned n, uint64_t stopped_ns);

#endif
