// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rounds of phases. Each phase runs until it has used its percentage of a round's CPU time. The
 * time that it really took is measured by the thread's own CPU time, and printed on the console
 * every two seconds:
 *
 *   work-fp: heartbeat 12 sort 104823117 deep 98210442 ...       (nanoseconds since the start)
 *
 * Machines differ, so a profile of the guest is compared with these times, not with the
 * percentages. The kernel adds the time of an interrupt to the thread that was interrupted; a chain
 * does the same.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

#define ROUND_NS UINT64_C(100000000) /* short: tests may end within a round */
#define UNITS    16 /* run at first between two looks at the clock, which are system calls */
#define LOOKS    2  /* at the clock in a phase, later: looking must not take the time */
#define BEAT_NS  UINT64_C(2000000000)

static int console = -1;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

void run_init(const char *program)
{
	console = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (console < 0) {
		perror(program);
		exit(1);
	}
}

void run_ready(const char *program)
{
	char path[64];

	snprintf(path, sizeof(path), "/run/%s", program);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

WORK void spin(unsigned long iterations)
{
	unsigned long product = iterations;

	while (iterations--)
#ifdef __aarch64__
		asm volatile("mul %0, %0, %0\n	mul %0, %0, %0" : "+r"(product));
#else
		asm volatile("imulq %0, %0\n	imulq %0, %0" : "+r"(product) : : "cc");
#endif
}

/* Uses one write() for a line, so that lines of several programs do not mix. */
void run_print(const char *line, int length)
{
	if (write(console, line, length) < 0)
		exit(1);
}

WORK static void print_heartbeat(const struct work *work)
{
	char line[512];
	int length = snprintf(line, sizeof(line), "%s: heartbeat %ju", work->name,
			      (uintmax_t)work->rounds);

	for (const struct phase *phase = work->phases; phase->name; phase++)
		length += snprintf(line + length, sizeof(line) - length, " %s %ju", phase->name,
				   (uintmax_t)phase->spent_ns);
	line[length++] = '\n';
	run_print(line, length);
}

WORK static void run_phase(struct phase *phase)
{
	uint64_t since = now_ns(CLOCK_THREAD_CPUTIME_ID), wanted = phase->percent * ROUND_NS / 100;
	uint64_t took, looks = 0;

	if (!phase->units)
		phase->units = UNITS;
	do {
		for (unsigned int i = 0; i < phase->units; i++)
			phase->unit();
		took = now_ns(CLOCK_THREAD_CPUTIME_ID) - since;
		looks++;
	} while (took < wanted);
	if (looks > LOOKS)
		phase->units *= 2;
	phase->spent_ns += took;
}

WORK void run_round(struct work *work)
{
	uint64_t now;

	for (struct phase *phase = work->phases; phase->name; phase++)
		run_phase(phase);
	work->rounds++;
	now = now_ns(CLOCK_MONOTONIC);
	if (now - work->printed_ns >= BEAT_NS) {
		print_heartbeat(work);
		work->printed_ns = now;
	}
}
