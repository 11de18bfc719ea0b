/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sampler needs to copy the task and the stacks of a vCPU in one stop. */
#ifndef XTOP_LINUX_KERNEL_STACK_LAYOUT_H
#define XTOP_LINUX_KERNEL_STACK_LAYOUT_H

#include "linux/kernel/linux_guest.h"
#include "xtop/sample/control.h"

/*
 * REGS are the registers of any vCPU: this vCPU's per-cpu area is read. The result is zero if the
 * kernel's types are unknown. See stack_layout_x86.c, stack_layout_32.c, stack_layout_arm64.c.
 */
struct linux_stacks stack_layout_x86_build(const struct linux_guest *guest,
					   const struct registers *regs);
struct linux_stacks stack_layout_32_build(const struct linux_guest *guest);
struct linux_stacks stack_layout_arm64_build(const struct linux_guest *guest);

/*
 * Sets the offset of `mm` in a task, and the offsets of members of the mm_struct. Returns false if
 * the kernel's types lack a member.
 */
static inline bool stack_layout_set_mm(struct linux_stacks *stacks, const struct layout *layout)
{
	if (!layout_has(layout, TASK_MM) || !layout_has(layout, MM_START_STACK))
		return false;
	stacks->task_mm = layout_offset(layout, TASK_MM);
	stacks->mm_start_stack = layout_offset(layout, MM_START_STACK);
	if (layout_has(layout, MM_PGD))
		stacks->mm_pgd = layout_offset(layout, MM_PGD);
	return true;
}

static inline struct linux_stacks stack_layout_build(const struct linux_guest *guest,
						     const struct registers *regs)
{
	if (linux_is_short(guest))
		return stack_layout_32_build(guest);
	return regs->arch == ARCH_ARM64 ? stack_layout_arm64_build(guest)
					: stack_layout_x86_build(guest, regs);
}

#endif
