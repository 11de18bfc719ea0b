/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be said of a task that is no longer what it was when a sample was taken: exec() gave it
 * another program, or its task_struct another task. Resolver's thread.
 */
#ifndef XTOP_OS_FORMER_H
#define XTOP_OS_FORMER_H

#include "linux/process/tasks.h"

/* How the clock of start times relates to ours. Zeroed to begin with. */
struct former_clock {
	uint64_t since_ns;       /* of the latest span; 0: nothing seen yet */
	uint64_t gap_ns, before; /* the smallest of that span, and of the one before it */
};

/* TASK was read at NOW_NS. */
void former_see(struct former_clock *clock, const struct task *task, uint64_t now_ns);
/* Whether it is sure that it had started by TIME_NS: then it was the same task. */
bool former_was_there(const struct former_clock *clock, const struct task *task, uint64_t time_ns);

/*
 * Of TASK, sampled in a memory that is no more its own: whether that was a copy of its parent's, the
 * program its parent still runs. *PARENT is that, and valid as long as what tasks_find() returns.
 */
bool former_is_copy(const struct linux_guest *linux_guest, struct tasks *tasks,
		    const struct task *task, uint64_t now_ns, const struct task **parent);

#endif
