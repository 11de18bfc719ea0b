/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack layout of a kernel of 32 bits, i386 or Arm, for the sampler. All stacks have 8 KiB at
 * multiples of 8 KiB. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/layout_32.h"
#include "linux/kernel/stack_layout.h"

struct linux_stacks stack_layout_32_build(const struct linux_guest *guest)
{
	struct linux_stacks stacks = { 0 };

	if (!guest->has_layout || !layout_has(&guest->layout, TASK_STACK) ||
	    !guest->symbols[LINUX_PER_CPU_OFFSET])
		return stacks;
	stacks.kernel_cr3 = root_is_arm(guest->root) ? guest->root.arm64.table0 : guest->root.cr3;
	stacks.current_per_cpu = guest->symbols[LINUX_CURRENT_TASK];
	stacks.per_cpu_table = guest->symbols[LINUX_PER_CPU_OFFSET];
	stacks.task_stack = layout_offset(&guest->layout, TASK_STACK);
	stacks.stack_bytes = STACK_32_BYTES;
	return stacks;
}
