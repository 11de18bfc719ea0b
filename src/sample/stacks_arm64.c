/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack led a vCPU to where it is: Linux on arm64; see stacks.h.
 *
 *   user code      its stack, at sp_el0. The task is in the CPU's variable __entry_task, where the
 *                  kernel finds the task when user code enters it
 *   kernel code    the stack at sp_el1. SP_EL0 is the task there (Linux arch/arm64/include/asm/
 *                  current.h), and the task's structure has its stack. Any other stack is the
 *                  interrupts' stack, or one for an overflow: the frame pointers lead from there to
 *                  the task's stack
 *
 *      interrupt stack            task's stack                   user stack
 *   sp ► ┌───────────┐         ┌► ┌───────────────┐           ┌► ┌──────────┐
 *        │ records   │         │  │ records       │           │  │          │
 *        │ the last ─┼─────────┘  │ pt_regs.sp ───┼───────────┘  │          │
 *        └───────────┘            └───────────────┘              └──────────┘
 *
 * Stacks of a kernel with CONFIG_VMAP_STACK are aligned to twice their size (asm/memory.h,
 * THREAD_ALIGN). In the kernel's first and last instructions SP_EL0 is the user's stack pointer,
 * and the other registers are the user's, too (arch/arm64/kernel/entry.S, kernel_entry).
 *
 * Code of 32 bits has its stack pointer in x13, and SP_EL0 is 0. The kernel clears x13 before it
 * changes SP_EL0, and on its way back it restores SP_EL0 first. So in the first and last
 * instructions the pt_regs that is filled or emptied is copied, too; it tells which x13 is the
 * user's.
 *
 * A kernel with CONFIG_ARM64_SW_TTBR0_PAN (Android's), on a processor without PAN, keeps its own
 * code from user memory. After it has saved the user's registers, TTBR0 is an empty table, the page
 * below swapper_pg_dir, except while the kernel copies from or to the user (Linux
 * arch/arm64/include/asm/uaccess.h, __uaccess_ttbr0_disable(); kernel/entry.S, __swpan_entry_el0).
 * The task's mm then tells the user's tables.
 */
#include "config.h"

#include "sample/stacks_arm64.h"
#include "sample/stacks_go.h"
#include "sample/stacks_recipe.h"

#define STACKS_MAX_RECORDS 64 /* frame records on the interrupts' stack: most have 10 to 20 */
#define STACKS_AHEAD_BYTES (2 * GUEST_PAGE_SIZE) /* most stacks of tasks are not deeper */

static void arm64_begin(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;

	stacks_init(copy);
	if (stacks->kernel_cr3)
		copy->kernel.arm64.table1 = stacks->kernel_cr3;
}

static void arm64_find_task(struct copy *copy, uint64_t task)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t stack;

	copy->copied->task = task;
	if (!stacks_read(copy, task + stacks->task_stack, &stack) ||
	    !address_is_kernel_pointer(stack) || stack > UINT64_MAX - stacks->stack_bytes)
		return;
	copy->task.start = stack;
	copy->task.end = stack + stacks->stack_bytes;
	copy->user_regs = copy->task.end - stacks->regs_below_top;
}

/*
 * The task whose user code runs or is about to run; 0: the kernel's variable is not known. The
 * resolver could find the task by its stack, but the task may have ended by then.
 */
static uint64_t arm64_read_entry_task(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t entry = stacks->per_cpu_table + sizeof(uint64_t) * copy->copier->vcpu;
	uint64_t distance, task;

	if (!stacks->entry_task_per_cpu || !stacks_read(copy, entry, &distance) ||
	    !address_is_kernel_pointer(stacks->entry_task_per_cpu + distance) ||
	    !stacks_read(copy, stacks->entry_task_per_cpu + distance, &task) ||
	    !address_is_kernel_pointer(task))
		return 0;
	return task;
}

/*
 * Finds the stack that SP is on, which is not the task's stack. This stack begins at a multiple of
 * twice its size.
 */
static void arm64_find_irq(struct copy *copy, uint64_t sp)
{
	uint64_t bytes = copy->copier->stacks.stack_bytes, start = sp & ~(2 * bytes - 1);

	if (sp - start >= bytes)
		return; /* not a stack, or a kernel without CONFIG_VMAP_STACK */
	copy->irq.start = start;
	copy->irq.end = start + bytes;
}

/*
 * Follows the frame records from x29 on, which ascend within the interrupts' stack, to the first
 * record on the task's stack. Returns 0 if the records do not lead there.
 */
static uint64_t arm64_find_link(struct copy *copy, uint64_t sp)
{
	uint64_t record = copy->regs->arm64.x[REGISTER_ARM64_FP], next;

	for (unsigned i = 0; i < STACKS_MAX_RECORDS; i++) {
		if (stack_extent_has(copy->task, record))
			return record;
		if (record < sp || !stack_extent_has(copy->irq, record) ||
		    !stacks_read(copy, record, &next))
			return 0;
		sp = record + 1;
		record = next;
	}
	return 0;
}

static enum sample_cut arm64_copy_kernel(struct copy *copy, uint64_t sp)
{
	enum sample_cut cut;
	uint64_t link;

	if (stack_extent_has(copy->task, sp))
		return piece_writer_add(&copy->writer, STACK_FIRST, copy->kernel, sp,
					copy->task.end - sp);
	arm64_find_irq(copy, sp);
	cut = piece_writer_add(&copy->writer, STACK_FIRST, copy->kernel, sp,
			       copy->irq.end ? copy->irq.end - sp : COPY_UNKNOWN_BYTES);
	link = copy->irq.end ? arm64_find_link(copy, sp) : 0;
	return link ? piece_writer_add(&copy->writer, STACK_LINKED, copy->kernel, link,
				       copy->task.end - link)
		    : cut;
}

/*
 * The user's thread pointer; 0: not known. Xen does not tell TPIDR_EL0. The task's structure has
 * what the register was when the kernel last switched to another task (Linux
 * arch/arm64/kernel/process.c, tls_preserve_current_state()). A thread sets it once, as it starts.
 */
static uint64_t arm64_read_thread_pointer(struct copy *copy)
{
	uint32_t offset = copy->copier->stacks.task_thread_pointer;
	uint64_t task = copy->copied->task, pointer;

	return offset && task && stacks_read(copy, task + offset, &pointer) ? pointer : 0;
}

static enum sample_cut arm64_copy_user(struct copy *copy, enum sample_stack_kind kind,
				       uint64_t address)
{
	enum sample_cut cut;

	if (address_is_kernel(address))
		return CUT_NOT_PRESENT;
	if ((control_has_go(copy->copier->control) || !stacks_learned_bytes(copy, address)) &&
	    stacks_copy_go(copy, kind, address, &cut))
		return cut;
	cut = piece_writer_add(&copy->writer, kind, copy->own, address,
			       stacks_user_bytes(copy, address, 0, COPY_UNKNOWN_BYTES));
	if (control_has_recipes(copy->copier->control))
		stacks_copy_by_recipe(copy, arm64_read_thread_pointer);
	return cut;
}

static enum sample_cut arm64_copy_user32(struct copy *copy, enum sample_stack_kind kind,
					 uint64_t address)
{
	address = (uint32_t)address;
	return piece_writer_add(&copy->writer, kind, copy->own, address,
				stacks_user_bytes(copy, address, 0, COPY_UNKNOWN_BYTES));
}

/* Copies the user's stack. CUT_NONE: the task is a kernel thread, and has no user code. */
static enum sample_cut arm64_copy_saved_user(struct copy *copy)
{
	uint64_t pstate, sp;

	if (!copy->user_regs)
		return CUT_NONE;
	if (!stacks_read(copy, copy->user_regs + PT_ARM64_AT(PT_ARM64_PSTATE), &pstate) ||
	    !stacks_read(copy, copy->user_regs + PT_ARM64_AT(pt_regs_arm64_sp(pstate)), &sp))
		return CUT_NOT_MAPPED;
	if (pstate_arm64_is_user32(pstate))
		return arm64_copy_user32(copy, STACK_USER, sp);
	return pstate_arm64_is_user64(pstate) ? arm64_copy_user(copy, STACK_USER, sp) : CUT_NONE;
}

/* Whether TTBR0 is the empty table of CONFIG_ARM64_SW_TTBR0_PAN. */
static bool arm64_is_user_hidden(const struct copy *copy)
{
	uint64_t page = 1ULL << root_arm64_page_shift(copy->own.arm64);

	return !((copy->own.arm64.table0 ^ (copy->kernel.arm64.table1 - page)) & ~ROOT_ARM64_CNP);
}

/* The task's own page tables, as TTBR0_EL1 has them; 0: the task has none, or none are known. */
static uint64_t arm64_read_tables(struct copy *copy, uint64_t task)
{
	return stacks_read_tables(copy, task + copy->copier->stacks.task_mm);
}

/*
 * Uses the task's tables if TTBR0 is empty. A sample names tables by their frame, so the tables
 * must begin at a page.
 */
static void arm64_use_task_tables(struct copy *copy)
{
	uint64_t table;

	if (!arm64_is_user_hidden(copy))
		return;
	table = arm64_read_tables(copy, copy->copied->task);
	if (!table || table & GUEST_PAGE_MASK)
		return;
	copy->own.arm64.table0 = table;
	copy->copied->frame = FRAME(table >> GUEST_PAGE_SHIFT);
}

/* Address of the struct pt_regs that the kernel fills or empties; 0: there is none. */
static uint64_t arm64_find_entering_regs(const struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t sp = copy->regs->arm64.sp_el1;

	return address_is_kernel_pointer(sp) &&
			       (-sp & (stacks->stack_bytes - 1)) == stacks->regs_below_top
		       ? sp
		       : 0;
}

/* The kernel is being entered or left: SP_EL0 is the user's, and only a pt_regs is live. */
static void arm64_copy_entering(struct copy *copy)
{
	const struct registers_arm64 *regs = &copy->regs->arm64;
	uint64_t pstate = regs->spsr_el1, sp = regs->x[PT_ARM64_X13], saved[2];
	uint64_t at = arm64_find_entering_regs(copy);

	copy->copied->task = arm64_read_entry_task(copy);
	copy->copied->stack_cut = CUT_NOT_PRESENT;
	if (at && !pstate_arm64_is_user64(pstate)) {
		copy->copied->stack_cut = piece_writer_add(&copy->writer, STACK_FIRST, copy->kernel,
							   at, copy->copier->stacks.regs_below_top);
		if (stacks_read(copy, at + PT_ARM64_AT(PT_ARM64_PC), &saved[0]) &&
		    stacks_read(copy, at + PT_ARM64_AT(PT_ARM64_PSTATE), &saved[1]) &&
		    registers_arm64_are_saved(regs, saved[0])) {
			if (!registers_arm64_came_from_user(regs))
				pstate = saved[1];
			stacks_read(copy, at + PT_ARM64_AT(PT_ARM64_X13), &sp);
		}
	}
	copy->copied->user_cut = pstate_arm64_is_user32(pstate)
					 ? arm64_copy_user32(copy, STACK_USER, sp)
					 : arm64_copy_user(copy, STACK_USER, regs->sp_el0);
}

static void arm64_copy_from_kernel(struct copy *copy)
{
	uint64_t task = copy->regs->arm64.sp_el0, sp = registers_arm64_sp(&copy->regs->arm64);

	if (address_is_kernel_pointer(task)) {
		arm64_find_task(copy, task);
		copy->copied->stack_cut = arm64_copy_kernel(copy, sp);
		arm64_use_task_tables(copy);
		copy->copied->user_cut = arm64_copy_saved_user(copy);
	} else {
		arm64_copy_entering(copy);
	}
}

void stacks_arm64_copy_linux(struct copy *copy, bool user)
{
	uint64_t sp = registers_stack_pointer(copy->regs), pc = registers_pc(copy->regs);

	arm64_begin(copy);
	if (!user) {
		arm64_copy_from_kernel(copy);
		return;
	}
	copy->copied->task = arm64_read_entry_task(copy);
	copy->copied->stack_cut = registers_runs_arm32(copy->regs)
					  ? arm64_copy_user32(copy, STACK_FIRST, sp)
					  : arm64_copy_user(copy, STACK_FIRST, sp);
	if (!address_is_kernel(pc)) /* last: see stacks_code_frame() in stacks_x86.c */
		copy->copied->frame = piece_writer_find_frame(&copy->writer, copy->own, pc);
}

/* --- before the stop -------------------------------------------------------------------------- */

struct copy_task stacks_arm64_find_running(struct copy *copy)
{
	struct copy_task running;

	arm64_begin(copy);
	running.task = arm64_read_entry_task(copy);
	running.cr3 = running.task ? arm64_read_tables(copy, running.task) : 0;
	return running;
}

/*
 * Reads register NUMBER of the task's pt_regs. Returns false if the register cannot be read, or has
 * a kernel address.
 */
static bool arm64_read_saved(struct copy *copy, enum pt_regs_arm64_word number, uint64_t *value)
{
	return stacks_read(copy, copy->user_regs + PT_ARM64_AT(number), value) &&
	       !address_is_kernel(*value);
}

void stacks_arm64_map_task(struct copy *copy, const struct copy_task *running)
{
	uint64_t pstate, sp, pc, end;

	arm64_find_task(copy, running->task);
	if (!copy->user_regs)
		return;
	piece_writer_add(&copy->writer, STACK_FIRST, copy->kernel,
			 copy->task.end - STACKS_AHEAD_BYTES, STACKS_AHEAD_BYTES);
	copy->own.arm64.table0 = running->cr3;
	if (!running->cr3 || arm64_copy_saved_user(copy) == CUT_NONE)
		return;
	/* The code may have called or returned since then: map the page on either side, too. */
	end = copy->writer.end;
	if (arm64_read_saved(copy, PT_ARM64_PSTATE, &pstate) &&
	    arm64_read_saved(copy, pt_regs_arm64_sp(pstate), &sp))
		piece_writer_add(&copy->writer, STACK_USER, copy->own, sp - GUEST_PAGE_SIZE,
				 GUEST_PAGE_SIZE);
	piece_writer_add(&copy->writer, STACK_USER, copy->own, end, GUEST_PAGE_SIZE);
	if (arm64_read_saved(copy, PT_ARM64_PC, &pc))
		piece_writer_find_frame(&copy->writer, copy->own, pc);
}
