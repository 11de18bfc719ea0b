/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the task to which a kernel stack belongs. On arm64 no register of a vCPU in user mode names
 * its task. If the kernel's variable is unknown as well, SP_EL1 is the end of the task's kernel
 * stack. Resolver's thread. All data is hostile.
 */
#ifndef XTOP_PROCESS_TASK_STACKS_H
#define XTOP_PROCESS_TASK_STACKS_H

#include "linux/kernel/linux_guest.h"
#include "linux/process/tasks.h"

struct task_stacks {
	const struct linux_guest *guest;
	uint64_t any_task; /* a task that was seen; 0 if none was */
	uint64_t next_walk_ns;
};

/* TASK is an address that a vCPU had as its current task. */
void task_stacks_learn(struct task_stacks *stacks, uint64_t task);
/*
 * The first pid namespace, which has all tasks: init_pid_ns, or the namespace to which the learned
 * task leads. 0 if unknown.
 */
uint64_t task_stacks_find_namespace(const struct task_stacks *stacks);
/*
 * The address of the task whose kernel stack ends at TOP: one of TASKS, one that the stack itself
 * names, or one of all tasks of the guest. The last two are tried at most once in
 * TASK_STACKS_WALK_NS. 0 if not found.
 */
uint64_t task_stacks_find(struct task_stacks *stacks, struct tasks *tasks, uint64_t top,
			  uint64_t now_ns);

#endif
