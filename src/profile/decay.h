/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to profile/: live weights, which halve with every half-life. Any thread. */
#ifndef PROFILE_DECAY_H
#define PROFILE_DECAY_H

#include <math.h>
#include <stdint.h>

/*
 * The factor by which a weight decays from FROM_NS to TO_NS. It is 1 if HALF_LIFE_NS is 0, or if
 * TO_NS is before FROM_NS.
 */
static inline double decay_between(uint64_t from_ns, uint64_t to_ns, uint64_t half_life_ns)
{
	if (!half_life_ns || to_ns <= from_ns)
		return 1;
	return exp2(-(double)(to_ns - from_ns) / (double)half_life_ns);
}

#endif
