/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the stack of a task that left its CPU, on arm64; see sleeper_arch.h.
 *
 *   task_struct.thread.cpu_context   x19 .. x28, x29, sp, pc: stored by cpu_switch_to()
 *
 *   sp ► frames of the kernel, from __switch_to() on | pt_regs | end of the stack
 *
 * (Linux arch/arm64/include/asm/processor.h, arch/arm64/kernel/entry.S, from v3.7.) The pc is the
 * link register of that call, so the pc lies in __switch_to(), which has a frame record.
 */
#include "config.h"

#include "linux/process/sleeper_arch.h"

#include <string.h>

#define PSTATE_EL1H 5 /* EL1, with SP_EL1 */

enum context_word { CONTEXT_X19, CONTEXT_X29 = 10, CONTEXT_SP, CONTEXT_PC, N_CONTEXT };
_Static_assert(N_CONTEXT == SLEEPER_CONTEXT_WORDS, "struct cpu_context");

/* Linux include/uapi/asm-generic/unistd.h */
#define ARM64_FUTEX 98

/* The stack pointer was read before the context: the task may have run in between. */
bool sleeper_arm64_get_registers(const struct sleeper_stack *stack, struct registers *regs)
{
	const uint64_t *context = stack->context;
	struct registers_arm64 *to = &regs->arm64;

	if (context[CONTEXT_SP] != stack->sp)
		return false;
	*regs = (struct registers){ .arch = ARCH_ARM64 };
	memcpy(to->x + 19, context + CONTEXT_X19, 10 * sizeof(*context));
	to->x[REGISTER_ARM64_FP] = context[CONTEXT_X29];
	to->pc = context[CONTEXT_PC];
	to->pstate = PSTATE_EL1H;
	to->sp_el0 = stack->task;
	to->sp_el1 = stack->sp;
	registers_arm64_set_root(to, stack->guest->root.arm64);
	return true;
}

#define N_SAVED (PT_ARM64_SYSCALL + 1) /* words of struct pt_regs that are used here */

/* Copies the first words of pt_regs at the end of the stack: the registers of user code, if any. */
static bool sleeper_find_saved(const struct sleeper_stack *stack, uint64_t saved[N_SAVED])
{
	size_t size_bytes = layout_offset_or(&stack->guest->layout, PT_REGS_SIZEOF, PT_ARM64_BYTES);

	if (size_bytes < N_SAVED * sizeof(*saved) || stack->size_bytes < size_bytes)
		return false;
	memcpy(saved, (const char *)stack->bytes + stack->size_bytes - size_bytes,
	       N_SAVED * sizeof(*saved));
	return true;
}

bool sleeper_arm64_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp)
{
	uint64_t saved[N_SAVED];

	if (!sleeper_find_saved(stack, saved))
		return false;
	if (pstate_arm64_is_user32(saved[PT_ARM64_PSTATE])) {
		*sp = (uint32_t)saved[PT_ARM64_X13];
		return true;
	}
	if (!pstate_arm64_is_user64(saved[PT_ARM64_PSTATE]) || saved[PT_ARM64_SP] >> 63)
		return false;
	*sp = saved[PT_ARM64_SP];
	return true;
}

/* x0 has the first argument until the call returns; orig_x0 keeps it. */
bool sleeper_arm64_get_call(const struct sleeper_stack *stack, struct system_call *call)
{
	uint64_t saved[N_SAVED], mask = UINT64_MAX;
	uint32_t number;

	if (!sleeper_find_saved(stack, saved) || (int32_t)saved[PT_ARM64_SYSCALL] < 0)
		return false;
	number = (uint32_t)saved[PT_ARM64_SYSCALL];
	if (pstate_arm64_is_user64(saved[PT_ARM64_PSTATE])) {
		call->kind = system_call_kind(number, ARM64_FUTEX);
	} else if (pstate_arm64_is_user32(saved[PT_ARM64_PSTATE])) {
		call->kind = system_call_kind_short(number);
		mask = UINT32_MAX;
	} else {
		return false;
	}
	saved[0] = saved[PT_ARM64_ORIG_X0];
	for (size_t i = 0; i < sizeof(call->arguments) / sizeof(call->arguments[0]); i++)
		call->arguments[i] = saved[i] & mask;
	return true;
}
