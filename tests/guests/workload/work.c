// SPDX-License-Identifier: GPL-2.0-or-later
/* The workload's C programs. The first thread runs all phases; the second, "worker", runs two. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

static struct phase phases[] = {
	{ .name = "sort", .unit = phase_sort, .percent = 15 },
	{ .name = "deep", .unit = phase_deep, .percent = 10 },
	{ .name = "signal", .unit = phase_signal, .percent = 5 },
	{ .name = "clock", .unit = phase_clock, .percent = 10 },
	{ .name = "shared", .unit = phase_shared, .percent = 10 },
	{ .name = "zero", .unit = phase_zero, .percent = 10 },
	{ .name = "hash", .unit = phase_hash, .percent = 15 },
	{ .name = "pipe", .unit = phase_pipe, .percent = 10 },
	{ .name = "tcp", .unit = phase_tcp, .percent = 15 },
	{ .name = NULL },
};

static struct phase worker_phases[] = {
	{ .name = "sort", .unit = phase_sort, .percent = 40 },
	{ .name = "deep", .unit = phase_deep, .percent = 60 },
	{ .name = NULL },
};

static char worker_name[32];

WORK static void *worker(void *arg)
{
	struct work work = { .name = worker_name, .phases = worker_phases };

	for (;;)
		run_round(&work);
	return arg;
}

int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	struct work work = { .name = slash ? slash + 1 : argv[0], .phases = phases };
	pthread_t thread;

	run_init(work.name);
	user_init();
	kernel_init();
	snprintf(worker_name, sizeof(worker_name), "%s/worker", work.name);
	if (pthread_create(&thread, NULL, worker, NULL) || pthread_setname_np(thread, "worker")) {
		fprintf(stderr, "%s: no thread\n", work.name);
		return 1;
	}
	run_ready(work.name);
	for (;;)
		run_round(&work);
}
