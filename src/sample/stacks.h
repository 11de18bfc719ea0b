/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: which stacks of one vCPU are copied. What holds for Linux on every processor
 * is here and in copy.c. stacks_x86.h and stacks_x86.c know the registers and the entry code of
 * x86-64, stacks_arm64.h and stacks_arm64.c those of arm64. Sampler's thread.
 *
 * All of this may run while the guest is stopped. Functions are inline because each call takes a
 * measurable part of a stop (tests/bench/bench_copy).
 */
#ifndef SAMPLE_STACKS_H
#define SAMPLE_STACKS_H

#include "sample/copy.h"
#include "sample/piece_writer.h"

struct stack_extent {
	uint64_t start, end; /* [start, end); end 0: not known */
};

struct copy {
	const struct copier *copier;
	const struct registers *regs;
	struct memory_root own; /* page tables of the vCPU */
	struct piece_writer pieces;
	struct copied *copied;
	/* set by stacks_copy_linux(): */
	struct memory_root kernel;     /* page tables that have all kernel addresses */
	struct stack_extent task, irq; /* the kernel's stacks */
	uint64_t user_regs;            /* address of the saved user registers; 0: not known */
};

/* Whether ADDRESS is in the upper half of the address space, which belongs to the kernel. */
static inline bool address_is_kernel(uint64_t address)
{
	return address >> 63;
}

/* Whether WORD may point to kernel data: it is aligned, and in the kernel's half. */
static inline bool address_is_kernel_pointer(uint64_t word)
{
	return address_is_kernel(word) && word % sizeof(uint64_t) == 0;
}

static inline bool stack_extent_has(struct stack_extent extent, uint64_t address)
{
	return address >= extent.start && address < extent.end;
}

/*
 * Bytes above ADDRESS up to the end that the resolver learned for this stack; 0: it learned none.
 */
static inline uint64_t stacks_learned_bytes(const struct copy *copy, uint64_t address)
{
	uint64_t top = control_get_stack_top(copy->copier->control, root_space(copy->own), address);

	return top > address ? top - address : 0;
}

/*
 * Whether a user stack may reach from ADDRESS to END, if the resolver has learned nothing of it. A
 * program's first stack begins below its arguments, at mm->start_stack (Linux fs/binfmt_elf.c). A
 * thread's stack begins below the target of the thread pointer: the C libraries put that at the end
 * of the stack (glibc nptl/allocatestack.c, musl src/thread/pthread_create.c).
 *
 *     stack mapping of a thread                  of the program
 *   ┌──────────────────────────────────┐       ┌───────────────────────────────────────┐
 *   │   sp ► live   │ TLS │ its struct │       │   sp ► live   │ argv, envp, auxv ...   │
 *   └─────────────────────┴────────────┘       └───────────────┴───────────────────────┘
 *                         ▲ thread pointer                     ▲ mm->start_stack
 *
 * If both ends lie below the stack pointer or too far above it, the stack is of another kind (a
 * signal's, a coroutine's).
 */
static inline bool stacks_may_end(uint64_t address, uint64_t end)
{
	return end > address && end - address <= SAMPLE_STACK_LIMIT_BYTES;
}

/* mm->start_stack of the running task; 0: not known. */
static inline uint64_t stacks_read_start_stack(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t mm, start;

	if (!stacks->mm_start_stack || !copy->copied->task ||
	    piece_writer_read(&copy->pieces, copy->kernel, copy->copied->task + stacks->task_mm,
			      &mm) != CUT_NONE ||
	    !address_is_kernel_pointer(mm) ||
	    piece_writer_read(&copy->pieces, copy->kernel, mm + stacks->mm_start_stack, &start) !=
		    CUT_NONE)
		return 0;
	return start;
}

/*
 * The physical address of the page tables of the mm_struct that the pointer at ADDRESS leads to;
 * 0: not known. On arm64 a table may lie anywhere in its page.
 */
uint64_t stacks_read_tables(struct copy *copy, uint64_t address);

/*
 * Bytes to copy of the user stack above ADDRESS, of which the resolver has learned nothing; UNKNOWN
 * if nothing else tells where it ends.
 */
static inline uint64_t stacks_new_bytes(struct copy *copy, uint64_t address,
					uint64_t thread_pointer, uint64_t unknown)
{
	uint64_t end = thread_pointer;

	if (!stacks_may_end(address, end))
		end = stacks_read_start_stack(copy);
	return stacks_may_end(address, end) ? end - address : unknown;
}

/* The same of any user stack. */
static inline uint64_t stacks_user_bytes(struct copy *copy, uint64_t address,
					 uint64_t thread_pointer, uint64_t unknown)
{
	uint64_t bytes = stacks_learned_bytes(copy, address);

	return bytes ? bytes : stacks_new_bytes(copy, address, thread_pointer, unknown);
}

#endif
