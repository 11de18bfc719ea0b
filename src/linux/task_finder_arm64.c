/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the task that a vCPU of arm64 runs. In the kernel SP_EL0 is the task. In user mode SP_EL1
 * points to the end of the task's kernel stack, just after the last byte. The kernel's first
 * instruction lowers SP_EL1 by a struct pt_regs while SP_EL0 still belongs to user mode (Linux
 * arch/arm64/kernel/entry.S, kernel_ventry). Resolver's thread.
 */
#include "config.h"

#include "linux/task_finder_arch.h"

#include "linux/kernel/arch.h"

/*
 * The end of the kernel stack that SP_EL1 points into, or just past. Stacks are aligned to their
 * size.
 */
static uint64_t finder_stack_end(const struct task_stacks *stacks, uint64_t sp_el1)
{
	uint64_t size_bytes = arch_stack_bytes(stacks->guest);

	return (sp_el1 + size_bytes - 1) & ~(size_bytes - 1);
}

void task_finder_arm64_learn(struct task_stacks *stacks, struct tasks *tasks,
			     const struct registers_arm64 *regs)
{
	if (!pstate_arm64_is_user(regs->pstate) && linux_is_kernel(regs->sp_el0))
		task_stacks_learn(stacks, regs->sp_el0);
	else if (linux_is_kernel(regs->sp_el1))
		task_stacks_find(stacks, tasks, finder_stack_end(stacks, regs->sp_el1), 0);
}

/* In user mode the sampler may not know the task. */
uint64_t task_finder_arm64_current(struct task_stacks *stacks, struct tasks *tasks,
				   const struct sample_vcpu *vcpu, uint64_t now_ns)
{
	uint64_t sp_el1 = vcpu->regs.arm64.sp_el1;

	task_stacks_learn(stacks, vcpu->task);
	if (vcpu->task || !linux_is_kernel(sp_el1))
		return vcpu->task;
	return task_stacks_find(stacks, tasks, finder_stack_end(stacks, sp_el1), now_ns);
}
