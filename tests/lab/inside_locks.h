/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What xtop tells of the locks of the workload guest's program waits; see inside.c. */
#ifndef TESTS_LAB_INSIDE_LOCKS_H
#define TESTS_LAB_INSIDE_LOCKS_H

#include "linux/process/processes.h"
#include "linux/process/tasks.h"

/*
 * Makes one pass over all tasks. PUT gets a line for each task that waits for a lock:
 * "WAITER KIND CERTAINTY HOLDER NAME", the names of threads, "-" where there is none.
 */
void inside_read_locks(const struct linux_guest *guest, struct tasks *tasks,
		       struct processes *processes, void (*put)(void *context, const char *line),
		       void *context);

#endif
