/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack layout of an arm64 kernel for the sampler. In the kernel, `current` is in a register,
 * and the task points to its stack, so only types are needed. In user mode, `current` is in a
 * per-CPU variable. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/stack_layout.h"

#include "linux/kernel/arch.h"

struct linux_stacks stack_layout_arm64_build(const struct linux_guest *guest)
{
	const struct layout *layout = &guest->layout;
	struct linux_stacks stacks = { 0 };

	if (!guest->has_layout || !layout_has(layout, TASK_STACK))
		return stacks;
	stacks = (struct linux_stacks){
		.kernel_cr3 = guest->root.arm64.table1,
		.current_per_cpu = CURRENT_IN_REGISTER,
		.task_stack = layout_offset(layout, TASK_STACK),
		.stack_bytes = arch_stack_bytes(guest),
		.regs_below_top = layout_offset_or(layout, PT_REGS_SIZEOF, PT_ARM64_BYTES),
		.task_thread_pointer = layout_offset_or(layout, TASK_THREAD_POINTER, 0),
	};
	stacks.per_cpu_table = guest->symbols[LINUX_PER_CPU_OFFSET];
	if (stacks.per_cpu_table) {
		stacks.runstate_per_cpu = guest->symbols[LINUX_RUNSTATE];
		stacks.entry_task_per_cpu = guest->symbols[LINUX_ENTRY_TASK];
	}
	stack_layout_set_mm(&stacks, layout);
	return stacks;
}
