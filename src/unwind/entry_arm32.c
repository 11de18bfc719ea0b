/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the user code that has entered a 32-bit Arm kernel. On entry from user code the kernel
 * saves the user's registers at the top of the task's stack, below 8 bytes (Linux
 * arch/arm/include/asm/thread_info.h, THREAD_START_SP; asm/processor.h, task_pt_regs()). The entry
 * code calls functions with the stack pointer at these registers, or two words below, where the
 * last arguments of a system call are (arch/arm/kernel/entry-header.S, S_OFF).
 *
 * A system call enters in svc mode. Before the kernel has saved the user's registers, and after it
 * has restored them, the kernel's stack is empty, and the vCPU has the user's registers: sp and lr
 * of user mode, and pc and CPSR in lr and SPSR of svc mode. Resolver's thread; pure functions.
 */
#include "config.h"

#include "unwind/entry.h"

#include "unwind/cursor_arm32.h"
#include "xtop/base/kernel_32.h"

#define ENTRY_STACK_BYTES   8192U /* THREAD_SIZE; a stack begins at a multiple of its size */
#define ENTRY_PADDING_BYTES 8
#define ENTRY_CALL_BYTES    8     /* the last two arguments of a system call */

static bool entry_is_user_regs(const uint64_t *words)
{
	return (words[PT_ARM32_CPSR] & ARM32_MODE) == ARM32_MODE_USR &&
	       words[PT_ARM32_PC] < KERNEL_32_START && words[PT_ARM32_SP] < KERNEL_32_START;
}

/* Moves the cursor to the user code whose registers lie at ADDRESS. Returns false if none do. */
static bool entry_set_user(struct cursor *cursor, uint64_t address, bool *ends)
{
	uint64_t words[PT_ARM32_WORDS], sp = cursor->regs[REG_SP];

	if (!cursor_peek_short(cursor, address, words, PT_ARM32_WORDS) ||
	    !entry_is_user_regs(words))
		return false;
	*ends = sp <= address && sp >= address - ENTRY_CALL_BYTES;
	cursor_bytes(cursor, address, PT_ARM32_WORDS * sizeof(uint32_t)); /* now they are reached */
	cursor_arm32_set(cursor, words);
	cursor->user = true;
	return true;
}

bool entry_arm32_is_entering(const struct cursor *cursor)
{
	const struct registers_arm64 *regs = &cursor->vcpu->regs.arm64;

	return cursor->vcpu->user_cut != CUT_NONE &&
	       (regs->pstate & ARM32_MODE) == ARM32_MODE_SVC &&
	       (regs->spsr_el1 & ARM32_MODE) == ARM32_MODE_USR &&
	       (-registers_arm32_get(regs, REGISTER_ARM32_SP) & (ENTRY_STACK_BYTES - 1)) ==
		       ENTRY_PADDING_BYTES;
}

static void entry_set_entering(struct cursor *cursor)
{
	const struct registers_arm64 *regs = &cursor->vcpu->regs.arm64;
	uint64_t words[PT_ARM32_WORDS];

	for (unsigned i = 0; i < N_REGISTERS_ARM32; i++)
		words[i] = (uint32_t)regs->x[i];
	words[PT_ARM32_PC] = registers_arm32_get(regs, REGISTER_ARM32_LR);
	words[PT_ARM32_CPSR] = regs->spsr_el1;
	cursor_arm32_set(cursor, words);
	cursor->user = true;
}

bool entry_arm32_find_user(struct cursor *cursor, bool *ends)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	if (cursor->vcpu->user_cut == CUT_NONE)
		return false;
	if (entry_arm32_is_entering(cursor)) {
		*ends = true;
		entry_set_entering(cursor);
		return true;
	}
	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint64_t end = piece->address + piece->size_bytes;

		if (piece->kind != STACK_USER && end % ENTRY_STACK_BYTES == 0 &&
		    entry_set_user(cursor, end - ENTRY_PADDING_BYTES - PT_ARM32_BYTES, ends))
			return true;
	}
	return false;
}
