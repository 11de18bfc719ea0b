/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the stack of a task that left its CPU, on i386; see sleeper_arch.h. Words have 4 bytes.
 *
 *   sp ► flags si di bx bp | return address | frames of the kernel ... | pt_regs | padding | top
 *        struct inactive_task_frame, pushed by __switch_to_asm()
 *
 * (Linux arch/x86/include/asm/switch_to.h, arch/x86/entry/entry_32.S, from v4.20.)
 */
#include "config.h"

#include "linux/process/sleeper_arch.h"

#include <string.h>

#include "xtop/base/kernel_32.h"
#include "xtop/base/registers_i386.h"

#define USER_SELECTOR   3    /* the privilege level in CS */
#define KERNEL_SELECTOR 0x60 /* asm/segment.h: __KERNEL_CS */

enum i386_inactive_word {
	INACTIVE_FLAGS,
	INACTIVE_SI,
	INACTIVE_DI,
	INACTIVE_BX,
	INACTIVE_BP,
	INACTIVE_RETURN,
	N_INACTIVE
};

bool sleeper_i386_get_registers(const struct sleeper_stack *stack, struct registers *regs)
{
	uint32_t words[N_INACTIVE];

	if (stack->size_bytes < sizeof(words))
		return false;
	memcpy(words, stack->bytes, sizeof(words));
	*regs = (struct registers){
		.rsi = words[INACTIVE_SI],
		.rdi = words[INACTIVE_DI],
		.rbx = words[INACTIVE_BX],
		.rbp = words[INACTIVE_BP],
		.rip = words[INACTIVE_RETURN],
		.rsp = stack->sp + sizeof(words),
		.cs = KERNEL_SELECTOR,
		.cr3 = stack->guest->root.cr3,
		.width = stack->guest->root.width,
	};
	return true;
}

bool sleeper_i386_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp)
{
	const size_t end_bytes = I386_STACK_PADDING + PT_I386_BYTES;
	uint32_t saved[N_PT_I386];

	if (stack->size_bytes < end_bytes)
		return false;
	memcpy(saved, (const char *)stack->bytes + stack->size_bytes - end_bytes, sizeof(saved));
	*sp = saved[PT_I386_SP];
	return (saved[PT_I386_CS] & USER_SELECTOR) == USER_SELECTOR && *sp < KERNEL_32_START;
}
