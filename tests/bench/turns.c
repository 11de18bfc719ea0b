/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much longer computing seems to take in dom0 while guests are busy. In the deterministic lab
 * the emulated CPUs take turns on one clock (tests/lab/README): the time that a process of dom0
 * uses has the turns of a busy guest's CPU in it. A loop of LENGTH instructions, as short as what a
 * sampler does in one tick, runs N times, at random distances of DISTANCE microseconds on average.
 * Prints the mean of the CPU time that the kernel counts for one loop, in ns. In that lab it is LENGTH
 * if nothing else computes.
 *
 *	turns N LENGTH DISTANCE
 */
#include "config.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Two instructions an iteration: the empty statement keeps the compiler from leaving out the loop. */
static __attribute__((noinline)) void compute(uint64_t instructions)
{
	for (uint64_t i = instructions / 2; i; i--)
		__asm__ volatile("");
}

int main(int argc, char **argv)
{
	uint64_t n, length, distance_us, sum_ns = 0, state = 88172645463325252;

	if (argc != 4)
		return 2;
	n = strtoull(argv[1], NULL, 10);
	length = strtoull(argv[2], NULL, 10);
	distance_us = strtoull(argv[3], NULL, 10);
	if (!n || !distance_us)
		return 2;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t before_ns;

		state ^= state << 13; /* xorshift64 */
		state ^= state >> 7;
		state ^= state << 17;
		nanosleep(&(struct timespec){ .tv_nsec = (long)(state % (2000 * distance_us)) }, NULL);
		before_ns = cpu_ns();
		compute(length);
		sum_ns += cpu_ns() - before_ns;
	}
	printf("%" PRIu64 "\n", sum_ns / n);
	return 0;
}
