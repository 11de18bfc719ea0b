// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tells whether somebody traces Xen now. Status 0: nobody does; 1: somebody does; 2: this failed.
 * The answer "somebody does" takes 20 ms, because Xen traces dom0, too, which always does something.
 *
 * With the id of a process it then kills that one, and watches Xen's buffers for 300 ms. It prints
 * whether Xen was traced before, and how many ms after the kill a buffer changed for the last time:
 *
 *	on 3.1
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xtop/xen/trace_buffers.h"

#define WATCH_NS   300000000
#define BUFFER_MAX (1 << 20)

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* What is in all buffers. A reader makes it less, Xen more. */
static size_t filled_bytes(const struct trace_buffers *buffers)
{
	static char bytes[BUFFER_MAX];
	size_t sum = 0;

	for (unsigned cpu = 0; cpu < trace_buffers_cpus(buffers); cpu++)
		sum += trace_buffers_peek(buffers, cpu, bytes, sizeof(bytes));
	return sum;
}

/* Returns how many ms after the kill the buffers changed for the last time. */
static double kill_and_watch(const struct trace_buffers *buffers, pid_t pid)
{
	const struct timespec nap = { .tv_nsec = 500000 };
	size_t filled = filled_bytes(buffers), before;
	double killed_ns = now_ns(), changed_ns = killed_ns, seen_ns;

	if (kill(pid, SIGKILL))
		return -1;
	while ((seen_ns = now_ns()) - killed_ns < WATCH_NS) {
		before = filled;
		filled = filled_bytes(buffers);
		if (filled != before)
			changed_ns = seen_ns;
		nanosleep(&nap, NULL);
	}
	return (changed_ns - killed_ns) / 1e6;
}

int main(int argc, char **argv)
{
	struct trace_buffers *buffers = NULL;
	struct xtop_error *error = trace_buffers_open(&buffers);
	int status = 0;

	if (!error)
		error = trace_buffers_map(buffers, 32);
	if (error)
		status = strstr(error_message(error), "another program") ? 1 : 2;
	if (status == 2 || (error && argc < 2))
		printf("# %s\n", error_message(error));
	error_destroy(error);
	if (argc > 1 && status != 2)
		printf("%s %.1f\n", status ? "on" : "off",
		       kill_and_watch(buffers, (pid_t)atoi(argv[1])));
	trace_buffers_close(buffers);
	return status;
}
