/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A clock for a test; see made_clock.h. */
#include "config.h"

#include "tests/support/made_clock.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct made_clock made_clock = { .now_ns = 1000000000000 };

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (made_clock.real)
		return (int)syscall(SYS_clock_gettime, clock, time);
	made_clock.now_ns += made_clock.reading_ns;
	made_clock.readings++;
	*time = (struct timespec){ .tv_sec = (time_t)(made_clock.now_ns / 1000000000),
				   .tv_nsec = (long)(made_clock.now_ns % 1000000000) };
	return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
	uint64_t until_ns = (uint64_t)until->tv_sec * 1000000000 + (uint64_t)until->tv_nsec;

	if (made_clock.real)
		return (int)syscall(SYS_clock_nanosleep, clock, flags, until, left);
	if (until_ns <= made_clock.now_ns)
		return 0;
	if (made_clock.late)
		until_ns += made_clock.late();
	if (until_ns > made_clock.now_ns)
		made_clock.now_ns = until_ns;
	return 0;
}
