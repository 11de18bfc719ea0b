// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program apart from the others: it alone runs when the kernel's command line has the word phases.
 * All CPUs run parallel() for a second, then one of them runs serial() for as many seconds as there
 * are CPUs:
 *
 *	parallel()  ▐████▌                  ▐████▌
 *	serial()          ▐________________▌      ▐___ ...
 *
 * Both want the same CPU time. What is measured is the time on the clock in which each thread is in
 * its function: where several vCPUs share a physical CPU, a thread that waits for it wants to run,
 * and xtop counts that. After each round the console gets a heartbeat, in nanoseconds since start:
 *
 *	phases: heartbeat 3 parallel 24112049310 serial 24000913221
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

#define PHASE_NS UINT64_C(1000000000)
#define SPIN     20000

static pthread_barrier_t barrier;
static _Atomic uint64_t parallel_ns;
static _Atomic uint64_t until_ns;
static unsigned int n_cpus;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

WORK static uint64_t parallel(uint64_t end_ns)
{
	uint64_t begin_ns = now_ns();

	while (now_ns() < end_ns)
		spin(SPIN);
	return now_ns() - begin_ns;
}

WORK static uint64_t serial(uint64_t end_ns)
{
	uint64_t begin_ns = now_ns();

	while (now_ns() < end_ns)
		spin(SPIN);
	return now_ns() - begin_ns;
}

/* Sleeps while the first thread is in serial(). */
static void *run_thread(void *cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((uintptr_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;) {
		pthread_barrier_wait(&barrier);
		parallel_ns += parallel(until_ns);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(void)
{
	uint64_t serial_ns = 0;
	pthread_t thread;

	n_cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	run_init("phases");
	pthread_barrier_init(&barrier, NULL, n_cpus);
	for (uintptr_t cpu = 1; cpu < n_cpus; cpu++)
		if (pthread_create(&thread, NULL, run_thread, (void *)cpu))
			return 1;
	run_ready("phases");
	for (uint64_t round = 1;; round++) {
		char line[128];
		int length;

		until_ns = now_ns() + PHASE_NS;
		pthread_barrier_wait(&barrier);
		parallel_ns += parallel(until_ns);
		pthread_barrier_wait(&barrier);
		serial_ns += serial(now_ns() + n_cpus * PHASE_NS);
		length = snprintf(line, sizeof(line), "phases: heartbeat %ju parallel %ju serial %ju\n",
				  (uintmax_t)round, (uintmax_t)parallel_ns, (uintmax_t)serial_ns);
		run_print(line, length);
	}
}
