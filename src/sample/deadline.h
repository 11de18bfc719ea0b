/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: when the ticks are due. Some work of a guest repeats at the same rate as the
 * ticks. Ticks at equal distances would always or never see it. So each period differs from the
 * mean at random. Sampler's thread.
 *
 * Time is cut into slots of one period, and each slot has one deadline. The place of the deadline
 * in its slot wanders up and down between both ends, by random steps:
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
#ifndef SAMPLE_DEADLINE_H
#define SAMPLE_DEADLINE_H

#include <stdint.h>

struct deadline {
	uint64_t at_ns; /* the next tick is due */
	uint64_t slot_ns, period_ns;
	/*
	 * The place in the slot. Numbers below 2^31 are the way up, from the start to the end of
	 * the slot; numbers from 2^31 on are the way back.
	 */
	uint32_t way;
	uint64_t random; /* never 0 */
};

/* SEED: any number. The first slot begins with the first call of deadline_next(). */
void deadline_init(struct deadline *deadline, uint64_t seed);
/* A number that the guest cannot guess. */
uint64_t deadline_draw_seed(void);
/*
 * Sets at_ns to the next deadline that is not before NOW_NS. Returns how many earlier deadlines
 * went by unmet; they are not made up for. If PERIOD_NS differs from that of the last call, a slot
 * begins now.
 */
uint64_t deadline_next(struct deadline *deadline, uint64_t period_ns, uint64_t now_ns);
/* The next N deadlines will not be met. */
void deadline_skip(struct deadline *deadline, uint64_t n);

#endif
