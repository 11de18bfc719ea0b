/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread has freed between pieces that it keeps goes back to the system. */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/tap.h"
#include "xtop/base/heap.h"

#define N_PIECES    400
#define LARGE_BYTES (64 << 10) /* 25 MiB of them, each too small to be mapped by itself */
#define SMALL_BYTES 100
#define LEAST_PAGES 4000

static char *small[N_PIECES], *large[N_PIECES];

/* Pages of this process that are in memory. */
static long resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long all = 0, resident = 0;

	if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return resident;
}

/* Frees the large pieces. The small ones between them keep the heap from shrinking. */
static void *leave_holes(void *argument)
{
	(void)argument;
	for (int i = 0; i < N_PIECES; i++) {
		large[i] = malloc(LARGE_BYTES);
		small[i] = malloc(SMALL_BYTES);
		memset(large[i], i, LARGE_BYTES);
		memset(small[i], i, SMALL_BYTES);
	}
	for (int i = 0; i < N_PIECES; i++)
		free(large[i]);
	return NULL;
}

/* Sanitizers and valgrind bring a heap of their own, which gives back nothing. */
static bool has_own_heap(void)
{
#if defined(__GLIBC__) && !defined(SANITIZED)
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "vgpreload");
#else
	return true;
#endif
}

int main(void)
{
	pthread_t thread;
	long before, given;
	int wrong = 0;

	heap_return_large();
	check(pthread_create(&thread, NULL, leave_holes, NULL) == 0, "a thread is started");
	pthread_join(thread, NULL);
	before = resident_pages();
	heap_return_holes();
	given = before - resident_pages();
	check(given > LEAST_PAGES || has_own_heap(), "%ld pages of %ld go back to the kernel",
	      given, before);
	for (int i = 0; i < N_PIECES; i++) {
		wrong += small[i][0] != (char)i || small[i][SMALL_BYTES - 1] != (char)i;
		free(small[i]);
	}
	check(!wrong, "memory in use keeps its content");
	return tap_done();
}
