/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack belong to a sample; see copy.h. Of a unikernel it is the one at the stack
 * pointer. Of a Linux guest, by the resolver's recipe, all that led there:
 *
 *   user code      its stack, at rsp
 *   kernel code    the stack at rsp; while that is not the task's own, what its end says was
 *                  interrupted; then the user code's, from the registers at the top of the task's
 *
 *      exception stack            interrupt stack           task's stack            user stack
 *   rsp ► ┌───────────┐       ┌► ┌───────────┐         ┌► ┌───────────┐        ┌► ┌──────────┐
 *         │           │       │  │           │         │  │           │        │  │          │
 *         │ iret frame┼───────┘  │ saved rsp ┼─────────┘  │ pt_regs.sp┼────────┘  │          │
 *         └───────────┘          └───────────┘            └───────────┘           └──────────┘
 *           its rsp is the         last word                by the recipe           as learned
 *           last word but one
 *
 * (Linux arch/x86/include/asm/irq_stack.h; Intel SDM vol. 3A §6.14.) All of it comes from the guest,
 * and may be anything: at most SAMPLE_MAX_LINKS are followed, onto stacks whose end is known, and
 * all together stay below SAMPLE_STACK_LIMIT_BYTES. What is wrong costs bytes, no more.
 */
#include "config.h"

#include "sample/copy.h"
#include "sample/pieces.h"
#include "xtop/walk.h"

#define CR0_PG  (1ULL << 31)
#define CR4_PAE (1ULL << 5)

/* In struct pt_regs (Linux arch/x86/include/asm/ptrace.h), the same since 2.6. */
#define PT_REGS_BYTES 168
#define PT_REGS_CS    136
#define PT_REGS_SP    152

/* What the processor saves of what it interrupts (Intel SDM vol. 3A §6.14.2). */
#define IRET_BYTES     40
#define IRET_CS        8
#define IRET_SP        24
#define IRET_SS        32
#define SELECTOR_INDEX 0xfffcULL

/* Without PCID, the bit that tells a pair of tables apart, and the one that keeps the TLB. */
#define CR3_TABLES 0x000fffffffffe000ULL

#define TSS_SP2 20

/* One entry of the top-level table, from 0xfffffe0000000000 on. */
#define CPU_ENTRY_AREA_SHIFT 39
#define CPU_ENTRY_AREA       0x1fffffcULL

/* No kernel's numbers are larger; those of the recipe must be multiples of 8 besides. */
#define RECIPE_MAX_BYTES  4096
#define RECIPE_MAX_STRUCT 32768 /* a task_struct has 9 to 14 KiB */

/* One vCPU. */
struct copy {
	const struct copier *copier;
	const struct registers *regs;
	struct memory_root own,
		kernel; /* page tables: the vCPU's, and those for kernel addresses */
	struct pieces pieces;
	struct copied *copied;
	/* Kernel stacks, from first byte to first byte behind; end 0: not known. */
	struct copy_extent {
		uint64_t start, end;
	} task, irq;
	uint64_t user_regs; /* where pt_regs of the user code lies; 0: not known */
};

/*
 * A PV guest's control registers are Xen's idea of them; it always runs in 64-bit mode here. Of others
 * without 64-bit mode CR4.PAE is clear (xen/domctl.c).
 */
static bool copy_has_paging(const struct copier *copier, const struct registers *regs)
{
	return copier->guest->type == GUEST_PV || (regs->cr0 & CR0_PG && regs->cr4 & CR4_PAE);
}

static bool copy_is_kernel(uint64_t address)
{
	return address >> 63;
}

/* Aligned, and in the half where the kernel is. */
static bool copy_is_kernel_pointer(uint64_t word)
{
	return copy_is_kernel(word) && word % sizeof(uint64_t) == 0;
}

static bool copy_is_in(struct copy_extent extent, uint64_t address)
{
	return address >= extent.start && address < extent.end;
}

/* As far up as it was ever used; 0: not known. */
static uint64_t copy_learned_bytes(const struct copy *copy, uint64_t address)
{
	uint64_t top = control_stack_top(copy->copier->control, copy->regs->cr3, address);

	return top > address ? top - address : 0;
}

static enum sample_cut copy_unikernel(struct copy *copy)
{
	uint64_t bytes = copy_learned_bytes(copy, copy->regs->rsp), end;

	return pieces_add(&copy->pieces, STACK_FIRST, copy->own, copy->regs->rsp,
			  bytes ? bytes : COPY_UNKNOWN_BYTES, &end);
}

/* --- the recipe ------------------------------------------------------------------------------- */

static bool recipe_may_be(uint32_t bytes)
{
	return bytes <= RECIPE_MAX_BYTES && bytes % sizeof(uint64_t) == 0;
}

static bool recipe_is_stack(uint32_t bytes)
{
	return bytes >= GUEST_PAGE_SIZE && bytes <= SAMPLE_STACK_LIMIT_BYTES &&
	       bytes % GUEST_PAGE_SIZE == 0;
}

static bool recipe_is_member(uint32_t offset)
{
	return offset <= RECIPE_MAX_STRUCT && offset % sizeof(uint64_t) == 0;
}

static bool recipe_check(const struct stack_recipe *recipe)
{
	return recipe_is_stack(recipe->stack_bytes) && recipe_may_be(recipe->top_padding) &&
	       recipe_may_be(recipe->regs_below_top) && recipe->regs_below_top >= PT_REGS_BYTES &&
	       recipe_may_be(recipe->irq_above) && recipe_is_member(recipe->task_mm) &&
	       recipe_is_member(recipe->mm_start_stack) &&
	       (!recipe->irq_stack_per_cpu || recipe_is_stack(recipe->irq_stack_bytes));
}

void copy_follow(struct copier *copier)
{
	struct stack_recipe recipe;

	if (!control_get_recipe(copier->control, &recipe))
		return;
	if (!recipe_check(&recipe))
		recipe.current_per_cpu = 0;
	copier->recipe = recipe;
}

/* --- stacks of the kernel --------------------------------------------------------------------- */

/*
 * Where its per-cpu variables are. Xen tells the two GS bases apart by the ring; in the kernel's first
 * and last instructions (Linux arch/x86/entry/entry_64.S, swapgs) they are the other way round.
 */
static uint64_t copy_per_cpu_base(const struct registers *regs)
{
	return copy_is_kernel(regs->gs_base_kernel) ? regs->gs_base_kernel : regs->gs_base;
}

/* A pointer of this CPU's; 0: there is none. */
static uint64_t copy_per_cpu(struct copy *copy, uint64_t offset)
{
	uint64_t pointer;

	if (pieces_read(&copy->pieces, copy->kernel, copy_per_cpu_base(copy->regs) + offset,
			&pointer) != CUT_NONE ||
	    !copy_is_kernel_pointer(pointer))
		return 0;
	return pointer;
}

static uint64_t copy_task_top(struct copy *copy)
{
	const struct stack_recipe *recipe = &copy->copier->recipe;
	uint64_t stack;

	if (recipe->top_per_cpu)
		return copy_per_cpu(copy, recipe->top_per_cpu);
	if (!copy->copied->task ||
	    pieces_read(&copy->pieces, copy->kernel, copy->copied->task + recipe->task_stack,
			&stack) != CUT_NONE ||
	    !copy_is_kernel_pointer(stack) || stack > UINT64_MAX - recipe->stack_bytes)
		return 0;
	return stack + recipe->stack_bytes - recipe->top_padding;
}

static void copy_find_task_stack(struct copy *copy)
{
	const struct stack_recipe *recipe = &copy->copier->recipe;
	uint64_t top = copy_task_top(copy);

	/* Both halves of the address space are larger than any recipe's number. */
	if (!top)
		return;
	copy->task.start = top + recipe->top_padding - recipe->stack_bytes;
	copy->task.end = top;
	copy->user_regs = top - recipe->regs_below_top;
}

/*
 * While the kernel switches tasks it is on the next one's stack already when current is the last
 * one still (Linux arch/x86/entry/entry_64.S __switch_to_asm, kernel/process_64.c __switch_to).
 * Task stacks lie at multiples of their size; where the processor's own are, no task has one (Linux
 * Documentation/arch/x86/x86_64/mm.rst). Only of a program: the registers of its
 * user code, at the top, prove it.
 */
static void copy_find_next_stack(struct copy *copy)
{
	const struct stack_recipe *recipe = &copy->copier->recipe;
	uint64_t rsp = copy->regs->rsp, start = rsp - rsp % recipe->stack_bytes;
	uint64_t top = start + recipe->stack_bytes - recipe->top_padding, cs, sp;
	uint64_t user_regs = top - recipe->regs_below_top;

	if (rsp >> CPU_ENTRY_AREA_SHIFT == CPU_ENTRY_AREA || !top || rsp >= user_regs ||
	    pieces_read(&copy->pieces, copy->kernel, user_regs + PT_REGS_CS, &cs) != CUT_NONE ||
	    pieces_read(&copy->pieces, copy->kernel, user_regs + PT_REGS_SP, &sp) != CUT_NONE ||
	    (cs & 3) != 3 || copy_is_kernel(sp))
		return;
	copy->task.start = start;
	copy->task.end = top;
	copy->user_regs = user_regs;
}

static void copy_find_irq_stack(struct copy *copy)
{
	const struct stack_recipe *recipe = &copy->copier->recipe;
	uint64_t pointer = 0;

	if (recipe->irq_stack_per_cpu)
		pointer = copy_per_cpu(copy, recipe->irq_stack_per_cpu);
	if (!pointer || pointer > UINT64_MAX - recipe->irq_above)
		return;
	copy->irq.end = pointer + recipe->irq_above;
	copy->irq.start = copy->irq.end - recipe->irq_stack_bytes;
}

/* First byte behind the stack that ADDRESS is on; 0: not known. */
static uint64_t copy_stack_end(const struct copy *copy, uint64_t address)
{
	uint64_t top;

	if (copy_is_in(copy->task, address))
		return copy->task.end;
	if (copy_is_in(copy->irq, address))
		return copy->irq.end;
	top = control_stack_top(copy->copier->control, copy->regs->cr3, address);
	return top > address ? top : 0;
}

/* Whether WORD can be the stack pointer of what was interrupted. */
static bool copy_is_link(const struct copy *copy, uint64_t word)
{
	return copy_is_kernel_pointer(word) && copy_stack_end(copy, word) &&
	       !pieces_have(&copy->pieces, word);
}

/* The stack pointer saved on the stack that ends at END, of which what begins at START was copied. */
static bool copy_find_link(struct copy *copy, uint64_t start, uint64_t end, uint64_t *address)
{
	for (unsigned words = 1; words <= 2 && words * sizeof(uint64_t) <= end - start; words++) {
		uint64_t at = end - words * sizeof(uint64_t);
		uint64_t word;

		if (pieces_read(&copy->pieces, copy->kernel, at, &word) != CUT_NONE)
			return false;
		if (copy_is_link(copy, word)) {
			*address = word;
			return true;
		}
	}
	return false;
}

/* The stack at rsp, and what it interrupted, up to the top of the task's. */
static enum sample_cut copy_kernel_stacks(struct copy *copy)
{
	enum sample_stack_kind kind = STACK_FIRST;
	uint64_t address = copy->regs->rsp;

	for (unsigned links = 0;; links++, kind = STACK_LINKED) {
		uint64_t known = copy_stack_end(copy, address), end;
		enum sample_cut cut =
			pieces_add(&copy->pieces, kind, copy->kernel, address,
				   known ? known - address : COPY_UNKNOWN_BYTES, &end);

		if (copy_is_in(copy->task, address) || links == SAMPLE_MAX_LINKS)
			return cut;
		/* All of it is there up to its known end, or up to the hole that guards it. */
		if ((end != known && cut != CUT_NOT_PRESENT) ||
		    !copy_find_link(copy, address, end, &address))
			return cut;
	}
}

/* --- the user's ------------------------------------------------------------------------------- */

/*
 * Where a stack ends that was not seen before. A program's begins below its arguments, at
 * mm->start_stack (Linux fs/binfmt_elf.c); a thread's below what its thread pointer points to,
 * where the C libraries put that at the stack's end (glibc nptl/allocatestack.c, musl
 * src/thread/pthread_create.c).
 *
 *     stack mapping of a thread                  of the program
 *   ┌──────────────────────────────────┐       ┌───────────────────────────────────────┐
 *   │   sp ► live   │ TLS │ its struct │       │   sp ► live   │ argv, envp, auxv ...   │
 *   └─────────────────────┴────────────┘       └───────────────┴───────────────────────┘
 *                         ▲ fs_base                            ▲ mm->start_stack
 *
 * Neither, or too far away: some other stack (signals, coroutines).
 */
static bool copy_may_end(uint64_t address, uint64_t end)
{
	return end > address && end - address <= SAMPLE_STACK_LIMIT_BYTES;
}

/* 0: not known. */
static uint64_t copy_start_stack(struct copy *copy)
{
	const struct stack_recipe *recipe = &copy->copier->recipe;
	uint64_t mm, start;

	if (!recipe->mm_start_stack || !copy->copied->task ||
	    pieces_read(&copy->pieces, copy->kernel, copy->copied->task + recipe->task_mm, &mm) !=
		    CUT_NONE ||
	    !copy_is_kernel_pointer(mm) ||
	    pieces_read(&copy->pieces, copy->kernel, mm + recipe->mm_start_stack, &start) !=
		    CUT_NONE)
		return 0;
	return start;
}

static uint64_t copy_user_bytes(struct copy *copy, uint64_t address)
{
	uint64_t bytes = copy_learned_bytes(copy, address), end = copy->regs->fs_base;

	if (bytes)
		return bytes;
	if (!copy_may_end(address, end))
		end = copy_start_stack(copy);
	return copy_may_end(address, end) ? end - address : COPY_UNKNOWN_BYTES;
}

static enum sample_cut copy_user(struct copy *copy, enum sample_stack_kind kind, uint64_t address)
{
	uint64_t bytes = copy_user_bytes(copy, address), end;

	return pieces_add(&copy->pieces, kind, copy->own, address, bytes, &end);
}

/* Of the code that entered the kernel. */
static enum sample_cut copy_entered(struct copy *copy, uint64_t sp)
{
	return copy_is_kernel(sp) ? CUT_NOT_PRESENT : copy_user(copy, STACK_USER, sp);
}

/* By the registers on the task's stack. CUT_NONE: a kernel thread has none. */
static enum sample_cut copy_user_stack(struct copy *copy)
{
	enum sample_cut cut;
	uint64_t cs, sp;

	if (!copy->user_regs)
		return CUT_NONE;
	cut = pieces_read(&copy->pieces, copy->kernel, copy->user_regs + PT_REGS_CS, &cs);
	if (cut == CUT_NONE)
		cut = pieces_read(&copy->pieces, copy->kernel, copy->user_regs + PT_REGS_SP, &sp);
	if (cut != CUT_NONE)
		return cut;
	/* Xen clears the ring in what it saves of a PV guest's kernel. */
	if ((cs & 3) != 3)
		return CUT_NONE;
	return copy_entered(copy, sp);
}

/* --- entering the kernel ---------------------------------------------------------------------- */

/*
 * What the task's stack has of the user code is that of its last entry, until the kernel is on it.
 * Before that (Linux arch/x86/entry/entry_64.S, calling.h):
 *
 *   interrupts, exceptions   what the processor has saved, at the top of one of its own stacks
 *   system calls             rsp is the user's; with isolated page tables it then holds CR3 for a
 *                            while, and what it was is in the TSS, in sp2, which nothing else uses
 */
static bool copy_find_entry(struct copy *copy, uint64_t *top, uint64_t *sp)
{
	uint64_t end = (copy->regs->rsp | GUEST_PAGE_MASK) + 1, cs, ss;

	if (copy->regs->rsp >> CPU_ENTRY_AREA_SHIFT != CPU_ENTRY_AREA ||
	    end - copy->regs->rsp < IRET_BYTES ||
	    pieces_read(&copy->pieces, copy->kernel, end - IRET_BYTES + IRET_CS, &cs) != CUT_NONE ||
	    pieces_read(&copy->pieces, copy->kernel, end - IRET_BYTES + IRET_SS, &ss) != CUT_NONE ||
	    pieces_read(&copy->pieces, copy->kernel, end - IRET_BYTES + IRET_SP, sp) != CUT_NONE)
		return false;
	*top = end;
	return (cs & ~SELECTOR_INDEX) == 3 && (ss & ~SELECTOR_INDEX) == 3 && !copy_is_kernel(*sp);
}

static void copy_interrupted(struct copy *copy, uint64_t top, uint64_t sp)
{
	uint64_t end;

	copy->copied->cut = pieces_add(&copy->pieces, STACK_FIRST, copy->kernel, copy->regs->rsp,
				       top - copy->regs->rsp, &end);
	copy->copied->user_cut = copy_entered(copy, sp);
}

static bool copy_is_entering(const struct copy *copy)
{
	return copy->copier->recipe.tss_per_cpu &&
	       !((copy->regs->rsp ^ copy->regs->cr3) & CR3_TABLES);
}

static enum sample_cut copy_entering(struct copy *copy)
{
	uint64_t tss = copy_per_cpu_base(copy->regs) + copy->copier->recipe.tss_per_cpu;
	uint64_t low, high;
	enum sample_cut cut;

	/* Intel SDM vol. 3A §8.7: not aligned */
	cut = pieces_read(&copy->pieces, copy->kernel, tss + TSS_SP2 - 4, &low);
	if (cut == CUT_NONE)
		cut = pieces_read(&copy->pieces, copy->kernel, tss + TSS_SP2 + 4, &high);
	return cut == CUT_NONE ? copy_entered(copy, low >> 32 | high << 32) : cut;
}

/* --- code ------------------------------------------------------------------------------------- */

/*
 * Where the user code lies that ran, for the resolver: its process may be gone when that looks for its
 * areas. Of the page no byte is read. Last of all, as the stacks share page tables with each other.
 */
static frame_t copy_code_frame(struct copy *copy)
{
	uint64_t rip = copy->regs->rip;

	return copy_is_kernel(rip) ? FRAME(0) : pieces_frame(&copy->pieces, copy->own, rip);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void copy_linux_stacks(struct copy *copy, bool user)
{
	const struct stack_recipe *recipe = &copy->copier->recipe;
	struct copied *copied = copy->copied;
	uint64_t top, sp;

	copy->kernel = copy->own;
	if (recipe->kernel_cr3)
		copy->kernel.cr3 = recipe->kernel_cr3;
	copy->task = copy->irq = (struct copy_extent){ .end = 0 };
	copy->user_regs = 0;
	copied->task = copy_per_cpu(copy, recipe->current_per_cpu);
	if (!user && copy_is_entering(copy)) {
		copied->user_cut = copy_entering(copy);
		return;
	}
	if (user && copy_is_kernel(copy->regs->rsp)) {
		copied->cut = CUT_NOT_PRESENT; /* a program may set it to what it likes */
		return;
	}
	/* Also of a kernel that has just been entered and not changed stacks yet. */
	if (!copy_is_kernel(copy->regs->rsp)) {
		copied->cut = copy_user(copy, STACK_FIRST, copy->regs->rsp);
		return;
	}
	if (copy_find_entry(copy, &top, &sp)) {
		copy_interrupted(copy, top, sp);
		return;
	}
	copy_find_task_stack(copy);
	if (!copy_is_in(copy->task, copy->regs->rsp))
		copy_find_irq_stack(copy);
	if (!copy_is_in(copy->task, copy->regs->rsp) && !copy_is_in(copy->irq, copy->regs->rsp))
		copy_find_next_stack(copy);
	copied->cut = copy_kernel_stacks(copy);
	copied->user_cut = copy_user_stack(copy);
}

static void copy_linux(struct copy *copy, bool user)
{
	copy_linux_stacks(copy, user);
	if (user)
		copy->copied->code_frame = copy_code_frame(copy);
}

/* --- a vCPU ----------------------------------------------------------------------------------- */

/* With TO NULL the pages are mapped. */
static void copy_all(struct copier *copier, const struct registers *regs, bool user, char *to,
		     struct copied *copied)
{
	struct copy copy; /* field by field: the guest stands still */

	copied->task = 0;
	copied->code_frame = FRAME(0);
	copied->cut = copied->user_cut = CUT_NONE;
	pieces_begin(&copy.pieces, copier->cache, to, copier->now_ns);
	copy.copier = copier;
	copy.regs = regs;
	copy.copied = copied;
	copy.own = walk_root(regs);
	if (!copy_has_paging(copier, regs))
		copied->cut = CUT_NO_PAGING;
	else if (!copier->recipe.current_per_cpu)
		copied->cut = copy_unikernel(&copy);
	else
		copy_linux(&copy, user);
	copied->size_bytes = copy.pieces.size_bytes;
	copied->n_stacks = copy.pieces.n;
	copied->missed = copy.pieces.missed;
}

void copy_vcpu(struct copier *copier, const struct registers *regs, bool user, char *to,
	       struct copied *copied)
{
	copy_all(copier, regs, user, to, copied);
}

void copy_prepare(struct copier *copier, const struct registers *regs, bool user)
{
	struct copied unused;

	copy_all(copier, regs, user, NULL, &unused);
}
