/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack led a vCPU to where it is: Linux on x86-64; see stacks.h.
 *
 *   user code      its stack, at rsp
 *   kernel code    the stack at rsp. If that is not the task's own stack, the words at its end
 *                  lead to the stack that was interrupted, and so on. The last one is the stack of
 *                  the user code: the registers at the top of the task's stack lead there.
 *
 *      exception stack            interrupt stack           task's stack            user stack
 *   rsp ► ┌───────────┐       ┌► ┌───────────┐         ┌► ┌───────────┐        ┌► ┌──────────┐
 *         │           │       │  │           │         │  │           │        │  │          │
 *         │ iret frame┼───────┘  │ saved rsp ┼─────────┘  │pt_regs.rsp┼────────┘  │          │
 *         └───────────┘          └───────────┘            └───────────┘           └──────────┘
 *           its rsp is the         last word            by struct linux_stacks       as learned
 *           last word but one
 *
 * (Linux arch/x86/include/asm/irq_stack.h; Intel SDM vol. 3A §6.14.) At most SAMPLE_MAX_LINKS links
 * are followed, and only onto stacks whose end is known.
 */
#include "config.h"

#include "sample/stacks_go.h"
#include "sample/stacks_recipe.h"
#include "sample/stacks_x86.h"

#define PT_REGS_AT(word) (8 * (word)) /* byte offset in struct pt_regs */

/*
 * When the processor interrupts code, it saves the last five words of the code's struct pt_regs
 * (Intel SDM vol. 3A §6.14.2).
 */
#define IRET_BYTES     (8 * (N_PT_REGS - PT_REGS_PROCESSOR))
#define IRET_AT(word)  (PT_REGS_AT(word) - PT_REGS_AT(PT_REGS_PROCESSOR))
#define SELECTOR_INDEX 0xfffcULL

#define STACKS_AHEAD_BYTES (2 * GUEST_PAGE_SIZE) /* most stacks of tasks are not deeper */

#define TSS_SP2 20 /* stack pointer of ring 2 (Intel SDM vol. 3A §8.7) */

/* One entry of the top-level page table, from 0xfffffe0000000000 on. */
#define CPU_ENTRY_AREA_SHIFT 39
#define CPU_ENTRY_AREA       0x1fffffcULL

/*
 * Whether RSP is on one of the processor's own stacks: for exceptions, or for kernel entry and
 * exit.
 */
static bool stacks_is_entry_stack(uint64_t rsp)
{
	return rsp >> CPU_ENTRY_AREA_SHIFT == CPU_ENTRY_AREA;
}

static bool stacks_is_user_selector(uint64_t selector)
{
	return (selector & 3) == 3;
}

/* --- the kernel's stacks ---------------------------------------------------------------------- */

/* The kernel pointer in this CPU's variable at OFFSET; 0: the variable has no kernel pointer. */
static uint64_t stacks_read_per_cpu(struct copy *copy, uint64_t offset)
{
	uint64_t pointer;

	if (!stacks_read(copy, stacks_per_cpu_base(copy->regs) + offset, &pointer) ||
	    !address_is_kernel_pointer(pointer))
		return 0;
	return pointer;
}

static uint64_t stacks_task_top(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t stack;

	if (stacks->top_per_cpu)
		return stacks_read_per_cpu(copy, stacks->top_per_cpu);
	if (!copy->copied->task ||
	    !stacks_read(copy, copy->copied->task + stacks->task_stack, &stack) ||
	    !address_is_kernel_pointer(stack) || stack > UINT64_MAX - stacks->stack_bytes)
		return 0;
	return stack + stacks->stack_bytes - stacks->top_padding;
}

static void stacks_find_task(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t top = stacks_task_top(copy);

	/* No subtraction wraps: a kernel address is larger than any of the numbers in STACKS. */
	if (!top)
		return;
	copy->task.start = top + stacks->top_padding - stacks->stack_bytes;
	copy->task.end = top;
	copy->user_regs = top - stacks->regs_below_top;
}

/*
 * While the kernel switches tasks, rsp is already on the next task's stack while `current` still
 * names the last task (Linux arch/x86/entry/entry_64.S __switch_to_asm, kernel/process_64.c
 * __switch_to). Task stacks lie at multiples of their size, and none lies where the processor's own
 * stacks are (Linux Documentation/arch/x86/x86_64/mm.rst). Only the stack of a program is found
 * this way: the registers of its user code, at the top, prove that it is a task's stack.
 */
static bool stacks_find_next_task(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t rsp = copy->regs->rsp, start = rsp - rsp % stacks->stack_bytes;
	uint64_t top = start + stacks->stack_bytes - stacks->top_padding, cs, sp;
	uint64_t user_regs = top - stacks->regs_below_top;

	if (stacks_is_entry_stack(rsp) || !top || rsp >= user_regs ||
	    !stacks_read(copy, user_regs + PT_REGS_AT(PT_REGS_CS), &cs) ||
	    !stacks_read(copy, user_regs + PT_REGS_AT(PT_REGS_RSP), &sp) ||
	    !stacks_is_user_selector(cs) || address_is_kernel(sp))
		return false;
	copy->task.start = start;
	copy->task.end = top;
	copy->user_regs = user_regs;
	return true;
}

static void stacks_find_irq(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t pointer = 0;

	if (stacks->irq_stack_per_cpu)
		pointer = stacks_read_per_cpu(copy, stacks->irq_stack_per_cpu);
	if (!pointer || pointer > UINT64_MAX - stacks->irq_above)
		return;
	copy->irq.end = pointer + stacks->irq_above;
	copy->irq.start = copy->irq.end - stacks->irq_stack_bytes;
}

/* First byte after the stack that ADDRESS is on; 0: not known. */
static uint64_t stacks_end(const struct copy *copy, uint64_t address)
{
	uint64_t top;

	if (stack_extent_has(copy->task, address))
		return copy->task.end;
	if (stack_extent_has(copy->irq, address))
		return copy->irq.end;
	top = control_get_stack_top(copy->copier->control, copy->regs->cr3, address);
	return top > address ? top : 0;
}

/* Whether WORD may be the stack pointer of interrupted code. */
static bool stacks_is_link(const struct copy *copy, uint64_t word)
{
	return address_is_kernel_pointer(word) && stacks_end(copy, word) &&
	       !piece_writer_have(&copy->writer, word);
}

/* Finds the stack pointer that is saved at the end of the stack [START, END), which was copied. */
static bool stacks_find_link(struct copy *copy, uint64_t start, uint64_t end, uint64_t *address)
{
	for (unsigned words = 1; words <= 2 && words * sizeof(uint64_t) <= end - start; words++) {
		uint64_t at = end - words * sizeof(uint64_t);
		uint64_t word;

		if (!stacks_read(copy, at, &word))
			return false;
		if (stacks_is_link(copy, word)) {
			*address = word;
			return true;
		}
	}
	return false;
}

/* Copies the stack at rsp and the interrupted stacks, up to the top of the task's stack. */
static enum sample_cut stacks_copy_kernel(struct copy *copy)
{
	enum sample_stack_kind kind = STACK_FIRST;
	uint64_t address = copy->regs->rsp;

	for (unsigned links = 0;; links++, kind = STACK_LINKED) {
		uint64_t known = stacks_end(copy, address);
		enum sample_cut cut =
			piece_writer_add(&copy->writer, kind, copy->kernel, address,
					 known ? known - address : COPY_UNKNOWN_BYTES);

		if (stack_extent_has(copy->task, address) || links == SAMPLE_MAX_LINKS)
			return cut;
		/*
		 * Go on only if the whole stack was copied: up to its known end, or up to the hole
		 * that guards it.
		 */
		if ((copy->writer.end != known && cut != CUT_NOT_PRESENT) ||
		    !stacks_find_link(copy, address, copy->writer.end, &address))
			return cut;
	}
}

/* --- the user's stack ------------------------------------------------------------------------- */

/* Pages at the stack pointer that were not touched yet: the locals of a function or two. */
#define STACKS_UNTOUCHED_PAGES 4

/*
 * A function moves the stack pointer before it uses the memory there, and the kernel adds a page
 * when the page is first touched. So the page at the stack pointer may not be there yet. Return
 * addresses lie further out, in a page that is there.
 */
static enum sample_cut stacks_add_user(struct copy *copy, enum sample_stack_kind kind,
				       uint64_t address, uint64_t bytes)
{
	uint64_t end = address + bytes;
	enum sample_cut cut = piece_writer_add(&copy->writer, kind, copy->own, address, bytes);

	for (unsigned i = 0; i < STACKS_UNTOUCHED_PAGES && cut == CUT_NOT_PRESENT &&
			     copy->writer.end == address && address < end;
	     i++) {
		address = (address | GUEST_PAGE_MASK) + 1;
		if (address < end && !address_is_kernel(address))
			cut = piece_writer_add(&copy->writer, kind, copy->own, address,
					       end - address);
	}
	return cut;
}

static uint64_t x86_read_thread_pointer(struct copy *copy)
{
	return copy->regs->fs_base;
}

static enum sample_cut stacks_copy_user(struct copy *copy, enum sample_stack_kind kind,
					uint64_t address)
{
	uint64_t bytes = stacks_learned_bytes(copy, address);
	enum sample_cut cut;

	if ((!bytes || control_has_go(copy->copier->control)) &&
	    stacks_copy_go(copy, kind, address, &cut))
		return cut;
	if (!bytes)
		bytes = stacks_new_bytes(copy, address, copy->regs->fs_base,
					 STACKS_COROUTINE_BYTES);
	cut = stacks_add_user(copy, kind, address, bytes);
	if (control_has_recipes(copy->copier->control))
		stacks_copy_by_recipe(copy, x86_read_thread_pointer);
	return cut;
}

/* Copies the stack of the user code that entered the kernel with the stack pointer SP. */
static enum sample_cut stacks_copy_entered(struct copy *copy, uint64_t sp)
{
	return address_is_kernel(sp) ? CUT_NOT_PRESENT : stacks_copy_user(copy, STACK_USER, sp);
}

/*
 * Copies the user stack to which the registers on the task's stack lead. CUT_NONE: there is no user
 * stack, as for a kernel thread.
 */
static enum sample_cut stacks_copy_saved_user(struct copy *copy)
{
	enum sample_cut cut;
	uint64_t cs, sp;

	if (!copy->user_regs)
		return CUT_NONE;
	cut = piece_writer_read(&copy->writer, copy->kernel,
				copy->user_regs + PT_REGS_AT(PT_REGS_CS), &cs);
	if (cut == CUT_NONE)
		cut = piece_writer_read(&copy->writer, copy->kernel,
					copy->user_regs + PT_REGS_AT(PT_REGS_RSP), &sp);
	if (cut != CUT_NONE)
		return cut;
	/* For a PV guest's kernel, Xen saves a CS whose ring is 0. */
	return stacks_is_user_selector(cs) ? stacks_copy_entered(copy, sp) : CUT_NONE;
}

/* --- entering the kernel ---------------------------------------------------------------------- */

/*
 * When user code enters the kernel, the registers at the top of the task's stack still belong to
 * the previous entry until the kernel runs on that stack. Meanwhile the user's stack pointer is
 * here (Linux arch/x86/entry/entry_64.S, calling.h):
 *
 *   interrupts, exceptions   in what the processor has saved, at the top of one of its own stacks
 *   system calls             in rsp, then in the TSS, in sp2, which has no other use: while rsp
 *                            holds CR3, with isolated page tables, and until the stack pointer is
 *                            pushed on the task's stack, which is the second push
 */
static bool stacks_find_entry(struct copy *copy, uint64_t *top, uint64_t *sp)
{
	uint64_t end = (copy->regs->rsp | GUEST_PAGE_MASK) + 1, iret = end - IRET_BYTES, cs, ss;

	if (!stacks_is_entry_stack(copy->regs->rsp) || end - copy->regs->rsp < IRET_BYTES ||
	    !stacks_read(copy, iret + IRET_AT(PT_REGS_CS), &cs) ||
	    !stacks_read(copy, iret + IRET_AT(PT_REGS_SS), &ss) ||
	    !stacks_read(copy, iret + IRET_AT(PT_REGS_RSP), sp))
		return false;
	*top = end;
	return (cs & ~SELECTOR_INDEX) == 3 && (ss & ~SELECTOR_INDEX) == 3 &&
	       !address_is_kernel(*sp);
}

static void stacks_copy_interrupted(struct copy *copy, uint64_t top, uint64_t sp)
{
	copy->copied->stack_cut = piece_writer_add(&copy->writer, STACK_FIRST, copy->kernel,
						   copy->regs->rsp, top - copy->regs->rsp);
	copy->copied->user_cut = stacks_copy_entered(copy, sp);
}

/*
 * Whether rsp holds CR3: the code that enters the kernel is switching page tables. This code reads
 * the user's CR3, computes the kernel's from it, and writes the result to CR3.
 */
static bool stacks_is_entering(const struct copy *copy)
{
	return copy->copier->stacks.tss_per_cpu &&
	       cr3_is_of_pair(copy->regs->rsp & ~CR3_USER_TABLE, copy->regs->cr3);
}

static enum sample_cut stacks_copy_entering(struct copy *copy)
{
	uint64_t tss = stacks_per_cpu_base(copy->regs) + copy->copier->stacks.tss_per_cpu;
	uint64_t low, high;
	enum sample_cut cut;

	/* sp2 is not aligned (Intel SDM vol. 3A §8.7): read the two words that have its halves. */
	cut = piece_writer_read(&copy->writer, copy->kernel, tss + TSS_SP2 - 4, &low);
	if (cut == CUT_NONE)
		cut = piece_writer_read(&copy->writer, copy->kernel, tss + TSS_SP2 + 4, &high);
	return cut == CUT_NONE ? stacks_copy_entered(copy, low >> 32 | high << 32) : cut;
}

/*
 * Whether the kernel is on the task's stack and has not pushed the user's stack pointer yet. The
 * stack still has the previous entry's pointer there.
 */
static bool stacks_lacks_user_sp(const struct copy *copy)
{
	return copy->copier->stacks.tss_per_cpu && copy->regs->rsp <= copy->task.end &&
	       copy->regs->rsp > copy->user_regs + PT_REGS_AT(PT_REGS_RSP);
}

static void stacks_copy_without_user_sp(struct copy *copy)
{
	copy->copied->stack_cut =
		piece_writer_add(&copy->writer, STACK_FIRST, copy->kernel, copy->regs->rsp,
				 copy->task.end - copy->regs->rsp);
	copy->copied->user_cut = stacks_copy_entering(copy);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void stacks_begin(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;

	stacks_init(copy);
	if (stacks->kernel_cr3)
		copy->kernel.cr3 = stacks->kernel_cr3;
	copy->copied->task = stacks_read_per_cpu(copy, stacks->current_per_cpu);
}

/* The task's own page tables; 0: not known. */
static uint64_t stacks_read_cr3(struct copy *copy)
{
	return stacks_read_tables(copy, copy->copied->task + copy->copier->stacks.task_mm);
}

/*
 * Whether CR3 belongs to the process whose mm->pgd is OWN. With page-table isolation the user's
 * tables have only the processor's own stacks. On all other kernel stacks CR3 is mm->pgd itself.
 */
static bool stacks_has_tables(const struct copy *copy, uint64_t own)
{
	return cr3_is_same_table(own, copy->own.cr3) ||
	       (stacks_is_entry_stack(copy->regs->rsp) && cr3_is_of_pair(own, copy->own.cr3));
}

/*
 * Uses the running task's own tables. While the kernel switches tasks, CR3 is already the next
 * task's, and the stack still the last task's (Linux kernel/sched/core.c context_switch()): the
 * user's stack is in the last task's tables. If the task has called exec() since its tables were
 * read, CR3 may be the task's own. So the tables are read again. A task that is about to end has no
 * tables any more.
 */
static void stacks_use_task_tables(struct copy *copy)
{
	const struct copy_task *running = copy->copier->running;
	uint64_t cr3;

	if (!running || !running->cr3 || running->task != copy->copied->task ||
	    stacks_has_tables(copy, running->cr3))
		return;
	cr3 = stacks_read_cr3(copy);
	if (!cr3)
		cr3 = running->cr3;
	if (stacks_has_tables(copy, cr3))
		return;
	copy->own.cr3 = cr3;
	copy->copied->frame = FRAME(cr3 >> GUEST_PAGE_SHIFT);
}

/*
 * Uses the next task's tables: the stack is already the next task's. A PV kernel hands its new CR3
 * to Xen a little later, together with its other requests of the switch. Before that the kernel
 * reads the GS base, which is a trap to Xen, while CR3 is still the last task's (Linux
 * arch/x86/xen/mmu_pv.c xen_write_cr3(), kernel/process_64.c __switch_to()). By now
 * cpu_tlbstate.loaded_mm is the next task's, on any kernel (arch/x86/mm/tlb.c
 * switch_mm_irqs_off()). The sample has the frame of these tables, and thus says that `current` is
 * another task.
 */
static void stacks_use_next_tables(struct copy *copy)
{
	uint64_t variable = copy->copier->stacks.loaded_mm_per_cpu;
	uint64_t base = stacks_per_cpu_base(copy->regs);
	uint64_t cr3 = variable ? stacks_read_tables(copy, base + variable) : 0;

	if (cr3)
		copy->own.cr3 = cr3;
	copy->copied->frame = FRAME(copy->own.cr3 >> GUEST_PAGE_SHIFT);
}

/* Copies the stacks of kernel code whose rsp is in the kernel's half. */
static void stacks_copy_from_kernel(struct copy *copy)
{
	uint64_t top, sp;
	bool is_next = false;

	if (stacks_find_entry(copy, &top, &sp)) {
		stacks_copy_interrupted(copy, top, sp);
		return;
	}
	stacks_find_task(copy);
	if (stacks_lacks_user_sp(copy)) {
		stacks_copy_without_user_sp(copy);
		return;
	}
	if (!stack_extent_has(copy->task, copy->regs->rsp))
		stacks_find_irq(copy);
	if (!stack_extent_has(copy->task, copy->regs->rsp) &&
	    !stack_extent_has(copy->irq, copy->regs->rsp))
		is_next = stacks_find_next_task(copy);
	copy->copied->stack_cut = stacks_copy_kernel(copy);
	if (is_next)
		stacks_use_next_tables(copy);
	else
		stacks_use_task_tables(copy);
	copy->copied->user_cut = stacks_copy_saved_user(copy);
}

static void stacks_copy_all(struct copy *copy, bool user)
{
	if (!user && stacks_is_entering(copy))
		copy->copied->user_cut = stacks_copy_entering(copy);
	else if (!address_is_kernel(copy->regs->rsp))
		/* User code, or a kernel that was just entered and has not changed stacks yet. */
		copy->copied->stack_cut = stacks_copy_user(copy, STACK_FIRST, copy->regs->rsp);
	else if (user)
		copy->copied->stack_cut = CUT_NOT_PRESENT; /* a program may set rsp to anything */
	else
		stacks_copy_from_kernel(copy);
}

/*
 * The frame of the user code that ran, for the resolver: the process may be gone when the resolver
 * looks for its areas. No byte of the page is read. The frame is found last, because the stacks
 * share page tables with each other, and the code's address does not share them.
 */
static frame_t stacks_code_frame(struct copy *copy)
{
	uint64_t rip = copy->regs->rip;

	return address_is_kernel(rip) ? FRAME(0)
				      : piece_writer_find_frame(&copy->writer, copy->own, rip);
}

void stacks_copy_linux(struct copy *copy, bool user)
{
	stacks_begin(copy);
	stacks_copy_all(copy, user);
	if (user)
		copy->copied->frame = stacks_code_frame(copy);
}

/* --- before the stop -------------------------------------------------------------------------- */

struct copy_task stacks_find_running(struct copy *copy)
{
	struct copy_task running;

	stacks_begin(copy);
	running.task = copy->copied->task;
	running.cr3 = running.task ? stacks_read_cr3(copy) : 0;
	return running;
}

/*
 * Reads register NUMBER at the top of the task's stack. Returns false if the register cannot be
 * read, or has a kernel address.
 */
static bool stacks_read_saved(struct copy *copy, unsigned number, uint64_t *value)
{
	return stacks_read(copy, copy->user_regs + PT_REGS_AT(number), value) &&
	       !address_is_kernel(*value);
}

void stacks_map_task(struct copy *copy, const struct copy_task *running)
{
	uint64_t sp, rip, end;

	stacks_find_task(copy);
	if (!copy->user_regs)
		return;
	piece_writer_add(&copy->writer, STACK_FIRST, copy->kernel,
			 copy->task.end - STACKS_AHEAD_BYTES, STACKS_AHEAD_BYTES);
	copy->own.cr3 = running->cr3;
	if (!copy->own.cr3 || stacks_copy_saved_user(copy) == CUT_NONE)
		return;
	/* The code may have called or returned since then: map the page on either side, too. */
	end = copy->writer.end;
	if (stacks_read_saved(copy, PT_REGS_RSP, &sp))
		piece_writer_add(&copy->writer, STACK_USER, copy->own, sp - GUEST_PAGE_SIZE,
				 GUEST_PAGE_SIZE);
	piece_writer_add(&copy->writer, STACK_USER, copy->own, end, GUEST_PAGE_SIZE);
	if (stacks_read_saved(copy, PT_REGS_RIP, &rip))
		piece_writer_find_frame(&copy->writer, copy->own, rip);
}
