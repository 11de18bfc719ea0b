/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which task a vCPU of arm64 runs. In the kernel SP_EL0 is the task. In user mode, and before the
 * kernel has saved the user's SP_EL0, SP_EL1 is behind the last byte of the task's kernel stack.
 * Resolver's thread.
 */
#include "config.h"

#include "linux/task_finder_arch.h"

void task_finder_arm64_learn(struct task_finder *finder, const struct registers_arm64 *regs)
{
	if (!pstate_arm64_is_user(regs->pstate) && linux_is_kernel(regs->sp_el0))
		task_stacks_learn(&finder->stacks, regs->sp_el0);
	else if (linux_is_kernel(regs->sp_el1))
		task_stacks_find(&finder->stacks, finder->tasks, regs->sp_el1, 0);
}

/* In user mode the sampler may not know the task. */
uint64_t task_finder_arm64_current(struct task_finder *finder, const struct sample_vcpu *vcpu,
				   uint64_t now_ns)
{
	uint64_t stack_end = vcpu->regs.arm64.sp_el1;

	task_stacks_learn(&finder->stacks, vcpu->task);
	if (vcpu->task || !linux_is_kernel(stack_end))
		return vcpu->task;
	return task_stacks_find(&finder->stacks, finder->tasks, stack_end, now_ns);
}
