/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time in nanoseconds, as one number. Any thread. */
#ifndef XTOP_CLOCK_H
#define XTOP_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
