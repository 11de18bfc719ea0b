/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack led a vCPU to where it is: Linux with a kernel of 32 bits on arm64; see
 * stacks.h.
 *
 *   user code      its stack, at sp of user mode
 *   kernel code    the stack at sp. If that is not the task's stack, it is the interrupts' stack.
 *                  The function that has changed stacks keeps the task's stack pointer in r11
 *                  (Linux arch/arm/lib/call_with_stack.S). The functions called from there may have
 *                  saved r11 anywhere, so all of the task's stack is copied, two pages
 *
 *      interrupt stack            task's stack                   user stack
 *   sp ► ┌───────────┐            ┌───────────────┐           ┌► ┌──────────┐
 *        │           │            │ not in use    │           │  │          │
 *        │           │    r11 ──► │ r11, lr       │           │  │          │
 *        └───────────┘            │ pt_regs.sp ───┼───────────┘  │          │
 *                                 │ 8 bytes       │              │          │
 *                                 └───────────────┘              └──────────┘
 *
 * pt_regs is on the stack of the task (asm/thread_info.h, THREAD_START_SP).
 */
#include "config.h"

#include "sample/stacks_32.h"

#define PT_ARM32_BYTES     72 /* asm/ptrace.h, struct pt_regs */
#define PT_ARM32_SP_AT     (4 * 13)
#define PT_ARM32_CPSR_AT   (4 * 16)
#define ARM32_STACK_UNUSED 8

/* Kernels that deny themselves user memory turn TTBR0 off (EPD0), which has the user's tables. */
static void arm32_begin(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;

	copy->own.arm64.off0 = 0;
	stacks_init(copy);
	if (stacks->kernel_cr3) {
		copy->kernel.arm64.table0 = stacks->kernel_cr3;
		copy->kernel.arm64.size0 = 0;
	}
	copy->copied->task = stacks_32_read_current(copy);
	if (stacks_32_find_task(copy))
		copy->user_regs = copy->task.end - ARM32_STACK_UNUSED - PT_ARM32_BYTES;
}

static enum sample_cut arm32_copy_kernel(struct copy *copy, uint64_t sp)
{
	struct stack_extent extent = stacks_32_stack_at(copy, sp);
	enum sample_cut cut =
		piece_writer_add(&copy->writer, STACK_FIRST, copy->kernel, sp, extent.end - sp);

	if (!copy->task.end || stack_extent_has(copy->task, sp))
		return cut;
	return piece_writer_add(&copy->writer, STACK_LINKED, copy->kernel, copy->task.start,
				copy->task.end - copy->task.start);
}

/*
 * Whether a system call begins or ends, so that the vCPU has the user's registers. See
 * unwind/entry_arm32.c.
 */
static bool arm32_is_entering(const struct copy *copy)
{
	const struct registers_arm64 *regs = &copy->regs->arm64;

	return (regs->pstate & ARM32_MODE) == ARM32_MODE_SVC &&
	       (regs->spsr_el1 & ARM32_MODE) == ARM32_MODE_USR &&
	       registers_stack_pointer(copy->regs) == copy->user_regs + PT_ARM32_BYTES;
}

/* Copies the user's stack. CUT_NONE: the task is a kernel thread, and has no user code. */
static enum sample_cut arm32_copy_saved_user(struct copy *copy)
{
	uint64_t cpsr, sp;

	if (!copy->user_regs)
		return CUT_NONE;
	if (arm32_is_entering(copy))
		return stacks_32_copy_user(copy, STACK_USER,
					   (uint32_t)copy->regs->arm64.x[REGISTER_ARM32_SP]);
	if (!stacks_32_read(copy, copy->user_regs + PT_ARM32_CPSR_AT, &cpsr) ||
	    !stacks_32_read(copy, copy->user_regs + PT_ARM32_SP_AT, &sp))
		return CUT_NOT_MAPPED;
	return (cpsr & ARM32_MODE) == ARM32_MODE_USR ? stacks_32_copy_user(copy, STACK_USER, sp)
						     : CUT_NONE;
}

void stacks_arm32_copy_linux(struct copy *copy, bool user)
{
	uint64_t sp = registers_stack_pointer(copy->regs);

	arm32_begin(copy);
	if (user) {
		stacks_32_copy_user_code(copy, sp, registers_pc(copy->regs));
		return;
	}
	copy->copied->stack_cut = arm32_copy_kernel(copy, sp);
	copy->copied->user_cut = arm32_copy_saved_user(copy);
}
