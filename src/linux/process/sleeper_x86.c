/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the stack of a task that left its CPU, on x86-64; see sleeper_arch.h.
 *
 *   sp ► r15 r14 r13 r12 rbx rbp | return address | frames of the kernel ... | pt_regs | top
 *        struct inactive_task_frame, pushed by __switch_to_asm()     (16 bytes above with FRED)
 *
 * (Linux arch/x86/include/asm/switch_to.h, arch/x86/entry/entry_64.S, from v4.9.)
 */
#include "config.h"

#include "linux/process/sleeper_arch.h"

#include <string.h>

#include "xtop/base/registers_x86.h"

#define FRED_BYTES      16
#define USER_SELECTOR   3 /* the privilege level in CS */
#define KERNEL_SELECTOR 0x10

/* Linux arch/x86/entry/syscalls/syscall_64.tbl */
#define X86_FUTEX 202

enum x86_inactive_word {
	INACTIVE_R15,
	INACTIVE_R14,
	INACTIVE_R13,
	INACTIVE_R12,
	INACTIVE_RBX,
	INACTIVE_RBP,
	INACTIVE_RETURN,
	N_INACTIVE
};

bool sleeper_x86_get_registers(const struct sleeper_stack *stack, struct registers *regs)
{
	uint64_t words[N_INACTIVE];

	if (stack->size_bytes < sizeof(words))
		return false;
	memcpy(words, stack->bytes, sizeof(words));
	*regs = (struct registers){
		.r15 = words[INACTIVE_R15],
		.r14 = words[INACTIVE_R14],
		.r13 = words[INACTIVE_R13],
		.r12 = words[INACTIVE_R12],
		.rbx = words[INACTIVE_RBX],
		.rbp = words[INACTIVE_RBP],
		.rip = words[INACTIVE_RETURN],
		.rsp = stack->sp + sizeof(words),
		.cs = KERNEL_SELECTOR,
	};
	return true;
}

/* Copies the registers of user code that end at TOP. Returns false if they are none. */
static bool sleeper_read_saved(const char *top, size_t size_bytes, uint64_t saved[N_PT_REGS])
{
	if (size_bytes < PT_REGS_BYTES)
		return false;
	memcpy(saved, top - PT_REGS_BYTES, PT_REGS_BYTES);
	return (saved[PT_REGS_CS] & USER_SELECTOR) == USER_SELECTOR && !(saved[PT_REGS_CS] >> 16) &&
	       !(saved[PT_REGS_RSP] >> 63);
}

static bool sleeper_find_saved(const struct sleeper_stack *stack, uint64_t saved[N_PT_REGS])
{
	const char *top = (const char *)stack->bytes + stack->size_bytes;

	return sleeper_read_saved(top, stack->size_bytes, saved) ||
	       (stack->size_bytes >= FRED_BYTES &&
		sleeper_read_saved(top - FRED_BYTES, stack->size_bytes - FRED_BYTES, saved));
}

bool sleeper_x86_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp)
{
	uint64_t saved[N_PT_REGS];

	if (!sleeper_find_saved(stack, saved))
		return false;
	*sp = saved[PT_REGS_RSP];
	return true;
}

bool sleeper_x86_get_call(const struct sleeper_stack *stack, struct system_call *call)
{
	static const uint8_t words[] = { PT_REGS_RDI, PT_REGS_RSI, PT_REGS_RDX,
					 PT_REGS_R10, PT_REGS_R8,  PT_REGS_R9 };
	static const uint8_t short_words[] = { PT_REGS_RBX, PT_REGS_RCX, PT_REGS_RDX,
					       PT_REGS_RSI, PT_REGS_RDI, PT_REGS_RBP };
	uint64_t saved[N_PT_REGS];
	bool is_short;

	/* A page fault has an error code or -1 instead of the number. */
	if (!sleeper_find_saved(stack, saved) || saved[PT_REGS_ORIG_RAX] >> 31)
		return false;
	is_short = code_word_bytes(WIDTH_64, saved[PT_REGS_CS]) == sizeof(uint32_t);
	call->kind = is_short ? system_call_kind_short(saved[PT_REGS_ORIG_RAX])
			      : system_call_kind(saved[PT_REGS_ORIG_RAX], X86_FUTEX);
	for (size_t i = 0; i < sizeof(words); i++)
		call->arguments[i] = is_short ? (uint32_t)saved[short_words[i]] : saved[words[i]];
	return true;
}
