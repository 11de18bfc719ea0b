/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls the architecture's file according to the guest's page tables; see sleeper_arch.h. */
#include "config.h"

#include "linux/process/sleeper_arch.h"

static bool sleeper_is_arm64(const struct sleeper_stack *stack)
{
	return stack->guest->root.width == ROOT_ARM64;
}

bool sleeper_arch_get_registers(const struct sleeper_stack *stack, struct registers *regs)
{
	if (linux_is_i386(stack->guest))
		return sleeper_i386_get_registers(stack, regs);
	if (linux_is_short(stack->guest)) /* 32-bit Arm */
		return false;
	return sleeper_is_arm64(stack) ? sleeper_arm64_get_registers(stack, regs)
				       : sleeper_x86_get_registers(stack, regs);
}

void sleeper_arch_set_root(struct registers *regs, struct memory_root root)
{
	if (regs->arch == ARCH_ARM64)
		registers_arm64_set_root(&regs->arm64, root.arm64);
	else
		regs->cr3 = root.cr3;
}

bool sleeper_arch_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp)
{
	if (linux_is_i386(stack->guest))
		return sleeper_i386_get_user_sp(stack, sp);
	if (linux_is_short(stack->guest))
		return false;
	return sleeper_is_arm64(stack) ? sleeper_arm64_get_user_sp(stack, sp)
				       : sleeper_x86_get_user_sp(stack, sp);
}

bool sleeper_arch_get_call(const struct sleeper_stack *stack, struct system_call *call)
{
	if (linux_is_short(stack->guest))
		return false;
	return sleeper_is_arm64(stack) ? sleeper_arm64_get_call(stack, call)
				       : sleeper_x86_get_call(stack, call);
}
