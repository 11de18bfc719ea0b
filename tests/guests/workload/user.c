// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Phases in user mode. Chains below run_phase, with parts of libc and of the kernel in brackets:
 *
 *   phase_sort;[qsort...;]compare          a library calls the comparison
 *   phase_deep;dive;dive...;spin           64 frames of dive
 *   phase_signal;[raise...;signal frame;]on_signal;spin
 *   phase_clock;[clock_gettime;vDSO]
 *   phase_shared;shared_checksum;shared_mix
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "work.h"

#define SPIN        100000
#define SORTED      2000
#define DEPTH       64
#define CLOCK_CALLS 100 /* system calls in a PV guest */
#define CHECKED     65536

static unsigned char checked[CHECKED];
static volatile unsigned long sink;

WORK static int compare(const void *a, const void *b)
{
	unsigned int left = *(const unsigned int *)a, right = *(const unsigned int *)b;

	spin(10);
	return left < right ? -1 : left > right;
}

WORK void phase_sort(void)
{
	unsigned int values[SORTED], value = 1;

	for (int i = 0; i < SORTED; i++)
		values[i] = value = value * 1664525 + 1013904223;
	qsort(values, SORTED, sizeof(values[0]), compare);
}

WORK static unsigned long dive(unsigned int depth)
{
	unsigned long below = 0;

	if (depth > 1)
		below = dive(depth - 1);
	else
		spin(SPIN);
	/* So that this is no tail call, and the compiler cannot make a loop of it. */
	asm volatile("" : "+r"(below));
	return below + depth;
}

WORK void phase_deep(void)
{
	sink += dive(DEPTH);
}

WORK static void on_signal(int number)
{
	spin(SPIN);
	sink += number;
}

WORK void phase_signal(void)
{
	raise(SIGUSR1);
	sink++;
}

WORK void phase_clock(void)
{
	struct timespec now;

	for (int i = 0; i < CLOCK_CALLS; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	sink += now.tv_nsec;
}

WORK void phase_shared(void)
{
	sink += shared_checksum(checked, sizeof(checked));
}

void user_init(void)
{
	if (signal(SIGUSR1, on_signal) == SIG_ERR) {
		perror("signal");
		exit(1);
	}
}
