/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds tasks by their kernel stacks; see task_stacks.h. All tasks are in the first pid namespace,
 * and any task leads there:
 *
 *   task ─► thread_pid ─► numbers[0].ns ─► idr ─► struct pid ─► task ─► stack
 *
 * A walk reads at most TASK_STACKS_MAX tasks.
 */
#include "config.h"

#include "linux/process/task_stacks.h"

#include "linux/kernel/member.h"
#include "linux/process/pids.h"
#include "linux/process/xarray.h"
#include "xtop/limit.h"
#include "xtop/work.h"

#define TASK_STACKS_WALK_NS 200000000ULL
#define TASK_STACKS_MAX     LIMIT(16384, 64)

void task_stacks_learn(struct task_stacks *stacks, uint64_t task)
{
	if (task)
		stacks->any_task = task;
}

static uint64_t task_stacks_namespace(const struct task_stacks *stacks)
{
	const struct linux_guest *guest = stacks->guest;
	uint64_t pid, upid, ns;

	if (guest->symbols[LINUX_INIT_PID_NS])
		return guest->symbols[LINUX_INIT_PID_NS];
	if (!member_read_pointer(guest, stacks->any_task, TASK_THREAD_PID, &pid))
		return 0;
	upid = pids_find_upid(guest, pid, 0);
	if (!upid || !layout_has(&guest->layout, UPID_NS) ||
	    !linux_read_u64(guest, upid + layout_offset(&guest->layout, UPID_NS), &ns) ||
	    !linux_is_kernel(ns))
		return 0;
	return ns;
}

/* The task of the struct pid at PID, if SP lies on its stack; else 0. */
static uint64_t task_stacks_try(const struct linux_guest *guest, const struct tasks *tasks,
				uint64_t pid, uint64_t sp)
{
	struct task task = { .address = linux_is_kernel(pid) ? pids_get_task(guest, pid) : 0 };

	if (!task.address || !member_read_pointer(guest, task.address, TASK_STACK, &task.stack) ||
	    !tasks_is_on_stack(tasks, &task, sp))
		return 0;
	return task.address;
}

static uint64_t task_stacks_walk(const struct task_stacks *stacks, const struct tasks *tasks,
				 uint64_t sp)
{
	uint64_t ns = task_stacks_namespace(stacks), index = 0, next, leaf[XARRAY_NODE_SLOTS], task;
	const struct linux_guest *guest = stacks->guest;

	if (!ns || !layout_has(&guest->layout, PID_NS_IDR) || !xarray_has_layout(&guest->layout))
		return 0;
	for (unsigned n = 0; n < TASK_STACKS_MAX && !work_is_over(); n += XARRAY_NODE_SLOTS) {
		bool found = xarray_read_leaf(guest,
					      ns + layout_offset(&guest->layout, PID_NS_IDR),
					      &index, leaf, &next);

		for (unsigned i = 0; found && i < XARRAY_NODE_SLOTS; i++)
			if (leaf[i] && !xarray_is_internal(leaf[i]) && !xarray_is_value(leaf[i]) &&
			    (task = task_stacks_try(guest, tasks, leaf[i], sp)))
				return task;
		if (!next)
			break;
		index = next;
	}
	return 0;
}

uint64_t task_stacks_find(struct task_stacks *stacks, struct tasks *tasks, uint64_t sp,
			  uint64_t now_ns)
{
	uint64_t task = tasks_find_on_stack(tasks, sp);

	if (task || now_ns < stacks->next_walk_ns)
		return task;
	stacks->next_walk_ns = now_ns + TASK_STACKS_WALK_NS;
	return task_stacks_walk(stacks, tasks, sp);
}
