/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of a task that has changed since a sample was taken: exec() gave the task another
 * program, or its task_struct belongs to another task now. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PAST_TASK_H
#define XTOP_PROCESS_PAST_TASK_H

#include "linux/process/clock_gap.h"
#include "linux/process/tasks.h"

/* CLOCK relates start times to our clock. TASK was read at NOW_NS, on our clock. */
void start_clock_update(struct clock_gap *clock, const struct task *task, uint64_t now_ns);
/*
 * Whether TASK certainly had started by TIME_NS, on our clock. If so, the task_struct belonged to
 * the same task then.
 */
bool start_clock_had_started(const struct clock_gap *clock, const struct task *task,
			     uint64_t time_ns);

/*
 * TASK was sampled in memory that is no longer its own. Returns true if that memory was a copy of
 * its parent's, as fork() makes it, and if the parent still runs the program that both ran then.
 * *PARENT is valid as long as the result of tasks_find(), and untouched if false is returned.
 */
bool past_task_is_parent_copy(const struct linux_guest *guest, struct tasks *tasks,
			      const struct task *task, uint64_t now_ns, const struct task **parent);

#endif
