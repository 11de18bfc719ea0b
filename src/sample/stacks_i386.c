/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack led a vCPU to where it is: Linux on i386; see stacks.h.
 *
 *   user code      its stack, at esp
 *   kernel code    the stack at esp. All of the kernel's stacks have one size, and lie at multiples
 *                  of that size. The first word of an interrupts' stack is the stack pointer of
 *                  what was interrupted (Linux arch/x86/kernel/irq_32.c). The registers of the user
 *                  code lie at the top of the task's stack
 *
 *      interrupt stack            task's stack                     user stack
 *      ┌───────────┐              ┌─────────────────┐          ┌► ┌──────────┐
 *      │ saved esp ┼──────┐       │                 │          │  │          │
 *      │           │      └─► esp │                 │          │  │          │
 *   esp►           │              │ pt_regs.sp ─────┼──────────┘  │          │
 *      └───────────┘              │ 8 bytes         │             │          │
 *                                 └─────────────────┘             └──────────┘
 *
 * (arch/x86/include/asm/thread_info.h, TOP_OF_KERNEL_STACK_PADDING.)
 */
#include "config.h"

#include "sample/stacks_32.h"

#include "xtop/base/registers_i386.h"

#define I386_LINK_BYTES 64 /* frame size of the function that changes stacks */

/* --- the task --------------------------------------------------------------------------------- */

static void i386_find_task(struct copy *copy)
{
	if (stacks_32_find_task(copy))
		copy->user_regs = copy->task.end - I386_STACK_PADDING - PT_I386_BYTES;
}

/*
 * If the vCPU is in the kernel's first or last instructions: finds the user's registers on the
 * entry stack.
 */
static void i386_find_entry(struct copy *copy)
{
	uint64_t address = i386_entry_regs(copy->regs->rsp), cs, ss;

	if (address && !stack_extent_has(copy->task, copy->regs->rsp) &&
	    stacks_32_read(copy, address + PT_I386_AT(PT_I386_CS), &cs) &&
	    stacks_32_read(copy, address + PT_I386_AT(PT_I386_SS), &ss) &&
	    (uint16_t)cs == I386_USER_CS && (uint16_t)ss == I386_USER_SS)
		copy->user_regs = address;
}

/* --- the stacks ------------------------------------------------------------------------------- */

/*
 * The user's stack pointer. The task's pt_regs says SP, which is not right yet in the kernel's
 * first instructions after `sysenter`. In the kernel's last instructions the pt_regs is copied,
 * too.
 */
static uint64_t i386_user_sp(struct copy *copy, uint64_t sp)
{
	uint64_t rsp = copy->regs->rsp, bp = (uint32_t)copy->regs->rbp, saved = bp, ip;

	if (i386_is_sysenter(rsp) && !stack_extent_has(copy->task, rsp)) {
		if (sp != (uint32_t)copy->regs->rcx ||
		    !stacks_32_read(copy, copy->user_regs + PT_I386_AT(PT_I386_IP), &ip) ||
		    ip != (uint32_t)copy->regs->rdx)
			return bp;
		piece_writer_add(&copy->writer, STACK_LINKED, copy->kernel, copy->user_regs,
				 copy->task.end - copy->user_regs);
	} else if (rsp > copy->user_regs + PT_I386_AT(PT_I386_SP) && rsp < copy->task.end) {
		return bp; /* nothing of the pt_regs was written yet */
	} else if (!sp && rsp <= copy->user_regs + PT_I386_AT(PT_I386_BP)) {
		stacks_32_read(copy, copy->user_regs + PT_I386_AT(PT_I386_BP), &saved);
		return saved;
	}
	return sp ? sp : bp;
}

/* Copies the user's stack. CUT_NONE: the task is a kernel thread, and has no user code. */
static enum sample_cut i386_copy_saved_user(struct copy *copy)
{
	uint64_t cs, sp;

	if (!copy->user_regs)
		return CUT_NONE;
	if (!stacks_32_read(copy, copy->user_regs + PT_I386_AT(PT_I386_CS), &cs) ||
	    !stacks_32_read(copy, copy->user_regs + PT_I386_AT(PT_I386_SP), &sp))
		return CUT_NOT_MAPPED;
	return (cs & 3) == 3 ? stacks_32_copy_user(copy, STACK_USER, i386_user_sp(copy, sp))
			     : CUT_NONE;
}

/*
 * Where the copy of an interrupted stack begins, if LINK is its saved stack pointer: the function
 * that has changed stacks has its frame below LINK (irq_32.c, call_on_stack()).
 */
static uint64_t i386_below(const struct copy *copy, uint64_t link)
{
	uint64_t start = stacks_32_stack_at(copy, link).start;

	return link - start > I386_LINK_BYTES ? link - I386_LINK_BYTES : start;
}

/* Copies the stack at esp and the interrupted stacks, up to the top of the task's stack. */
static enum sample_cut i386_copy_kernel(struct copy *copy)
{
	enum sample_stack_kind kind = STACK_FIRST;
	uint64_t address = copy->regs->rsp, link;

	for (unsigned links = 0;; links++, kind = STACK_LINKED) {
		struct stack_extent extent = stacks_32_stack_at(copy, address);
		enum sample_cut cut = piece_writer_add(&copy->writer, kind, copy->kernel, address,
						       extent.end - address);

		if (stack_extent_has(copy->task, address) || links == SAMPLE_MAX_LINKS ||
		    copy->writer.end != extent.end || !stacks_32_read(copy, extent.start, &link) ||
		    !stacks_32_is_pointer(link) || stack_extent_has(extent, link) ||
		    piece_writer_have(&copy->writer, link))
			return cut;
		address = i386_below(copy, link);
	}
}

/* --- all of it -------------------------------------------------------------------------------- */

static void i386_begin(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;

	stacks_init(copy);
	if (stacks->kernel_cr3)
		copy->kernel.cr3 = stacks->kernel_cr3;
	copy->copied->task = stacks_32_read_current(copy);
}

void stacks_i386_copy_linux(struct copy *copy, bool user)
{
	i386_begin(copy);
	if (user) {
		stacks_32_copy_user_code(copy, copy->regs->rsp, copy->regs->rip);
		return;
	}
	i386_find_task(copy);
	i386_find_entry(copy);
	copy->copied->stack_cut = i386_copy_kernel(copy);
	copy->copied->user_cut = i386_copy_saved_user(copy);
}
