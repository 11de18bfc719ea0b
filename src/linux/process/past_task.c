/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handles tasks that changed between a sample and the time when they are read; see past_task.h. The
 * children of a shell live for milliseconds, and run as copies of the shell at first. A later read
 * shows what they became.
 *
 * The start time of a task, on a clock of the guest, tells whether the task_struct still belongs to
 * the same task. No task is read before it has started. So clock_gap.h converts the start time to a
 * time on our clock that is never before the true start. A sample after that time belongs to this
 * task.
 *
 * The number of a task's exec() calls tells which program it ran. fork() copies this number (Linux
 * fs/exec.c begin_new_exec(), kernel/fork.c dup_task_struct()). A task that has ended with the same
 * number as its parent ran the parent's program. A living task whose number is greater by one has
 * called exec() since the fork(). A sample in memory that the task no longer has was taken before
 * that call. Resolver's thread.
 */
#include "config.h"

#include "linux/process/past_task.h"

#include "linux/kernel/member.h"

#define START_CLOCK_SPAN_NS 10000000000ULL

void start_clock_update(struct clock_gap *clock, const struct task *task, uint64_t now_ns)
{
	clock_gap_update(clock, task->start_time, now_ns, START_CLOCK_SPAN_NS);
}

bool start_clock_had_started(const struct clock_gap *clock, const struct task *task,
			     uint64_t time_ns)
{
	uint64_t start_ns;

	return clock_gap_get(clock, task->start_time, &start_ns) &&
	       (int64_t)(time_ns - start_ns) >= 0;
}

static bool past_task_read_exec_id(const struct linux_guest *guest, uint64_t task, uint32_t *id)
{
	return member_read_u32(guest, task, TASK_SELF_EXEC_ID, id);
}

bool past_task_is_parent_copy(const struct linux_guest *guest, struct tasks *tasks,
			      const struct task *task, uint64_t now_ns, const struct task **parentp)
{
	const struct task *parent;
	uint32_t own, parents;
	uint64_t address;

	if (!member_read_pointer(guest, task->address, TASK_REAL_PARENT, &address) ||
	    !past_task_read_exec_id(guest, task->address, &own) ||
	    !past_task_read_exec_id(guest, address, &parents) || own - parents != (task->mm != 0))
		return false;
	parent = tasks_find(tasks, address, now_ns);
	if (!parent || !parent->mm)
		return false;
	*parentp = parent;
	return true;
}
