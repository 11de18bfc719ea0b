/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack led a vCPU to where it is: Linux on i386; see stacks.h.
 *
 *   user code      its stack, at esp
 *   kernel code    the stack at esp. All of the kernel's stacks have the same size, and lie at
 *                  multiples of it. The first word of an interrupts' stack is the stack pointer of
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
 * (arch/x86/include/asm/thread_info.h, TOP_OF_KERNEL_STACK_PADDING.) The area of a CPU's own
 * variables is found by its number, because %fs has it in the kernel only.
 */
#include "config.h"

#include "sample/stacks_i386.h"

#include "xtop/registers_i386.h"

#define I386_LINK_BYTES 64 /* of the frame that has changed stacks */

/* CONFIG_VMSPLIT_3G. No user address is as high. */
static bool i386_is_kernel(uint64_t address)
{
	return address >= I386_KERNEL_START && address < I386_END;
}

static bool i386_is_pointer(uint64_t word)
{
	return i386_is_kernel(word) && word % sizeof(uint32_t) == 0;
}

/* The word of 4 bytes at ADDRESS. False: it cannot be read; *WORD is untouched. */
static bool i386_read(struct copy *copy, uint64_t address, uint64_t *word)
{
	uint64_t half = address & sizeof(uint32_t), both;

	if (address % sizeof(uint32_t) ||
	    pieces_read(&copy->pieces, copy->kernel, address - half, &both) != CUT_NONE)
		return false;
	*word = (uint32_t)(both >> 8 * half);
	return true;
}

/* --- the task --------------------------------------------------------------------------------- */

/* The running task's address; 0: not known. */
static uint64_t i386_read_current(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t entry = stacks->per_cpu_table + sizeof(uint32_t) * copy->copier->vcpu;
	uint64_t base, task;

	if (!i386_read(copy, entry, &base) ||
	    !i386_read(copy, (uint32_t)(base + stacks->current_per_cpu), &task) ||
	    !i386_is_pointer(task))
		return 0;
	return task;
}

static struct stack_extent i386_stack_at(const struct copy *copy, uint64_t address)
{
	uint64_t bytes = copy->copier->stacks.stack_bytes, start = address & -bytes;

	return (struct stack_extent){ .start = start, .end = start + bytes };
}

static void i386_find_task(struct copy *copy)
{
	uint64_t stack;

	if (!copy->copied->task ||
	    !i386_read(copy, copy->copied->task + copy->copier->stacks.task_stack, &stack) ||
	    !i386_is_pointer(stack))
		return;
	copy->task = i386_stack_at(copy, stack);
	copy->user_regs = copy->task.end - I386_STACK_PADDING - PT_I386_BYTES;
}

/* The vCPU is in the first or last instructions of the kernel, on its entry stack. */
static void i386_find_entry(struct copy *copy)
{
	uint64_t address = i386_entry_regs(copy->regs->rsp), cs, ss;

	if (address && !stack_extent_has(copy->task, copy->regs->rsp) &&
	    i386_read(copy, address + PT_I386_AT(PT_I386_CS), &cs) &&
	    i386_read(copy, address + PT_I386_AT(PT_I386_SS), &ss) &&
	    (uint16_t)cs == I386_USER_CS && (uint16_t)ss == I386_USER_SS)
		copy->user_regs = address;
}

/* --- the stacks ------------------------------------------------------------------------------- */

static enum sample_cut i386_copy_user(struct copy *copy, enum sample_stack_kind kind,
				      uint64_t address)
{
	if (i386_is_kernel(address))
		return CUT_NOT_PRESENT;
	return pieces_add(&copy->pieces, kind, copy->own, address,
			  stacks_user_bytes(copy, address, 0, COPY_UNKNOWN_BYTES));
}

/*
 * The user's stack pointer; its pt_regs says SP. In the first instructions of `sysenter` that is
 * not right yet. In the last ones the pt_regs has to be copied, too.
 */
static uint64_t i386_user_sp(struct copy *copy, uint64_t sp)
{
	uint64_t rsp = copy->regs->rsp, bp = (uint32_t)copy->regs->rbp, saved = bp, ip;

	if (i386_is_sysenter(rsp) && !stack_extent_has(copy->task, rsp)) {
		if (sp != (uint32_t)copy->regs->rcx ||
		    !i386_read(copy, copy->user_regs + PT_I386_AT(PT_I386_IP), &ip) ||
		    ip != (uint32_t)copy->regs->rdx)
			return bp;
		pieces_add(&copy->pieces, STACK_LINKED, copy->kernel, copy->user_regs,
			   copy->task.end - copy->user_regs);
	} else if (rsp > copy->user_regs + PT_I386_AT(PT_I386_SP) && rsp < copy->task.end) {
		return bp; /* of the pt_regs there is nothing yet */
	} else if (!sp && rsp <= copy->user_regs + PT_I386_AT(PT_I386_BP)) {
		i386_read(copy, copy->user_regs + PT_I386_AT(PT_I386_BP), &saved);
		return saved;
	}
	return sp ? sp : bp;
}

/* CUT_NONE: the task is a kernel thread, and has no user code. */
static enum sample_cut i386_copy_saved_user(struct copy *copy)
{
	uint64_t cs, sp;

	if (!copy->user_regs)
		return CUT_NONE;
	if (!i386_read(copy, copy->user_regs + PT_I386_AT(PT_I386_CS), &cs) ||
	    !i386_read(copy, copy->user_regs + PT_I386_AT(PT_I386_SP), &sp))
		return CUT_NOT_MAPPED;
	return (cs & 3) == 3 ? i386_copy_user(copy, STACK_USER, i386_user_sp(copy, sp)) : CUT_NONE;
}

/*
 * Where to copy a stack from whose saved stack pointer is LINK. The function that has changed
 * stacks has its frame below (irq_32.c, call_on_stack()).
 */
static uint64_t i386_below(const struct copy *copy, uint64_t link)
{
	uint64_t start = i386_stack_at(copy, link).start;

	return link - start > I386_LINK_BYTES ? link - I386_LINK_BYTES : start;
}

/* The stack at esp, and those that were interrupted, up to the top of the task's. */
static enum sample_cut i386_copy_kernel(struct copy *copy)
{
	enum sample_stack_kind kind = STACK_FIRST;
	uint64_t address = copy->regs->rsp, link;

	for (unsigned links = 0;; links++, kind = STACK_LINKED) {
		struct stack_extent extent = i386_stack_at(copy, address);
		enum sample_cut cut = pieces_add(&copy->pieces, kind, copy->kernel, address,
						 extent.end - address);

		if (stack_extent_has(copy->task, address) || links == SAMPLE_MAX_LINKS ||
		    copy->pieces.end != extent.end || !i386_read(copy, extent.start, &link) ||
		    !i386_is_pointer(link) || stack_extent_has(extent, link) ||
		    pieces_have(&copy->pieces, link))
			return cut;
		address = i386_below(copy, link);
	}
}

/* --- all of it -------------------------------------------------------------------------------- */

static void i386_begin(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;

	copy->kernel = copy->own;
	if (stacks->kernel_cr3)
		copy->kernel.cr3 = stacks->kernel_cr3;
	copy->task = copy->irq = (struct stack_extent){ .end = 0 };
	copy->user_regs = 0;
	copy->copied->task = i386_read_current(copy);
}

void stacks_i386_copy_linux(struct copy *copy, bool user)
{
	i386_begin(copy);
	if (user) {
		copy->copied->cut = i386_copy_user(copy, STACK_FIRST, copy->regs->rsp);
		if (!i386_is_kernel(copy->regs->rip)) /* last: as in stacks_x86.c */
			copy->copied->frame =
				pieces_find_frame(&copy->pieces, copy->own, copy->regs->rip);
		return;
	}
	i386_find_task(copy);
	i386_find_entry(copy);
	copy->copied->cut = i386_copy_kernel(copy);
	copy->copied->user_cut = i386_copy_saved_user(copy);
}

bool stacks_i386_check(const struct linux_stacks *stacks)
{
	return stacks->stack_bytes >= GUEST_PAGE_SIZE &&
	       stacks->stack_bytes <= SAMPLE_STACK_LIMIT_BYTES &&
	       !(stacks->stack_bytes & (stacks->stack_bytes - 1)) &&
	       stacks->task_stack <= GUEST_PAGE_SIZE && stacks->per_cpu_table < I386_END;
}
