/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that changed between a sample and the look at them; see former.h. A shell's children live
 * for milliseconds, and the first of them as the shell: what is read of them afterwards is what they
 * became.
 *
 * Whether it is still the same task tells its start time, on a clock of the guest's. Nothing was read
 * before it was there, so
 *
 *     gap = our clock when a task was read - its start time
 *
 * is never less than what the guest's clock is behind ours, and for a task that had just started it
 * is little more. With the smallest gap of the last seconds start + gap is no earlier than the true
 * start: a sample after that was of this task. The gap is found anew every FORMER_SPAN_NS, as a
 * guest's clock may be set back to ours (a guest that was suspended).
 *
 * What program it ran tells the number of its exec() calls, which fork() copies (Linux fs/exec.c
 * begin_new_exec(), kernel/fork.c dup_task_struct()): one that has ended with as many as its parent
 * was the parent's program; one that runs with one more has become another since, and a sample in a
 * memory that is not its own now is from before. Resolver's thread.
 */
#include "config.h"

#include "linux/process/former.h"

#include "linux/kernel/member.h"

#define FORMER_SPAN_NS 10000000000ULL

void former_see(struct former_clock *clock, const struct task *task, uint64_t now_ns)
{
	uint64_t gap_ns = now_ns - task->start_time;

	if (!task->start_time)
		return;
	if (!clock->since_ns) {
		*clock = (struct former_clock){ now_ns, gap_ns, gap_ns };
	} else if (now_ns - clock->since_ns >= FORMER_SPAN_NS) {
		clock->before = clock->gap_ns;
		clock->gap_ns = gap_ns;
		clock->since_ns = now_ns;
	}
	/* A guest's clock may be ahead of ours: differences, not sizes. */
	if ((int64_t)(gap_ns - clock->gap_ns) < 0)
		clock->gap_ns = gap_ns;
}

bool former_was_there(const struct former_clock *clock, const struct task *task, uint64_t time_ns)
{
	uint64_t gap_ns = clock->gap_ns;

	if (!task->start_time || !clock->since_ns)
		return false;
	if ((int64_t)(clock->before - gap_ns) < 0)
		gap_ns = clock->before;
	return (int64_t)(time_ns - (task->start_time + gap_ns)) >= 0;
}

static bool former_exec_id(const struct linux_guest *linux_guest, uint64_t task, uint32_t *id)
{
	return member_read_u32(linux_guest, task, TASK_SELF_EXEC_ID, id);
}

bool former_is_copy(const struct linux_guest *linux_guest, struct tasks *tasks,
		    const struct task *task, uint64_t now_ns, const struct task **parentp)
{
	const struct task *parent;
	uint32_t own, parents;
	uint64_t address;

	if (!member_read_pointer(linux_guest, task->address, TASK_REAL_PARENT, &address) ||
	    !former_exec_id(linux_guest, task->address, &own) ||
	    !former_exec_id(linux_guest, address, &parents) || own - parents != (task->mm != 0))
		return false;
	parent = tasks_find(tasks, address, now_ns);
	if (!parent || !parent->mm)
		return false;
	*parentp = parent;
	return true;
}
