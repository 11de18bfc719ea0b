/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: what all code that chooses the stacks of a vCPU to copy has in common.
 * What holds for Linux on every processor is here. stacks_x86.h and stacks_x86.c know the registers
 * and the entry code of x86-64, stacks_arm64.h and stacks_arm64.c those of arm64, stacks_32.h and
 * the two files beside it kernels of 32 bits. copy.c calls them. Sampler's thread.
 *
 * All of this may run while the guest is stopped. Functions are inline because each call takes a
 * measurable part of a stop (tests/bench/bench_copy).
 */
#ifndef SAMPLE_STACKS_H
#define SAMPLE_STACKS_H

#include "sample/piece_writer.h"
#include "xtop/sample/control.h"
#include "xtop/sample/sample.h"
#include "xtop/xen/guest.h"

#define COPY_UNKNOWN_BYTES 4096 /* bytes copied of a stack whose end is not known */

/* A task of a Linux guest that ran a moment before the stop. */
struct copy_task {
	uint64_t task; /* address of its task_struct; 0: no task is known */
	uint64_t cr3;  /* the task's page tables (arm64: as TTBR0_EL1 has them); 0: not known */
};

/* What stays the same for all vCPUs, and which vCPU is next. */
struct copier {
	const struct guest_info *guest;
	struct frame_cache *cache;
	const struct control *control;
	struct linux_stacks stacks; /* copy_poll_stacks() sets it; current_per_cpu 0: no Linux */
	uint64_t stacks_version;    /* version of stacks, for control_get_linux_stacks() */
	uint64_t now_ns;            /* present time; the caller sets it before copy_prepare() */
	/* The task that the vCPU ran, from copy_prepare_task(); NULL: not known. */
	const struct copy_task *running;
	unsigned vcpu; /* number of the vCPU that is copied next, which the caller sets */
};

/* What was copied of a vCPU besides its registers. */
struct copied {
	size_t size_bytes; /* size of all pieces, as they lie in the record */
	unsigned n_stacks;
	uint64_t task; /* address of the task_struct of `current`; 0: not read */
	frame_t frame; /* see sample_get_frame(); 0: not read */
	enum sample_cut stack_cut, user_cut; /* enum sample_cut of struct sample_vcpu */
	bool missed; /* a page was not mapped yet: call copy_prepare() before the next copy */
};

struct stack_extent {
	uint64_t start, end; /* the bytes [start, end); end 0: not known */
};

/* The copy of one vCPU. */
struct copy {
	const struct copier *copier;
	const struct registers *regs;
	struct memory_root own; /* the vCPU's page tables */
	struct piece_writer writer;
	struct copied *copied;
	/* The functions stacks_*copy_linux() set these members: */
	struct memory_root kernel;     /* page tables that have all kernel addresses */
	struct stack_extent task, irq; /* the kernel's stacks */
	uint64_t user_regs;            /* address of the saved user registers; 0: not known */
};

/* Whether STACKS belong to a kernel of 32 bits: i386's or Arm's. */
static inline bool stacks_are_32(const struct linux_stacks *stacks)
{
	return stacks->per_cpu_table && stacks->current_per_cpu != CURRENT_IN_REGISTER;
}

/* Sets the members that are the same for every Linux guest before its stacks are looked for. */
static inline void stacks_init(struct copy *copy)
{
	copy->kernel = copy->own;
	copy->task = copy->irq = (struct stack_extent){ .end = 0 };
	copy->user_regs = 0;
}

/*
 * Reads the word of kernel memory at ADDRESS, a multiple of 8. Returns false if the word cannot be
 * read.
 */
static inline bool stacks_read(struct copy *copy, uint64_t address, uint64_t *word)
{
	return piece_writer_read(&copy->writer, copy->kernel, address, word) == CUT_NONE;
}

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
 * Bytes above ADDRESS up to the end that the resolver learned for this stack; 0: the resolver
 * learned none.
 */
static inline uint64_t stacks_learned_bytes(const struct copy *copy, uint64_t address)
{
	uint64_t top = control_get_stack_top(copy->copier->control, root_space(copy->own), address);

	return top > address ? top - address : 0;
}

/*
 * Whether a user stack that the resolver does not know may reach from ADDRESS to END. A program's
 * first stack begins below its arguments, at mm->start_stack (Linux fs/binfmt_elf.c). A
 * thread's stack begins below the target of the thread pointer: the C libraries put the target at
 * the end of the stack (glibc nptl/allocatestack.c, musl src/thread/pthread_create.c).
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
	    !stacks_read(copy, copy->copied->task + stacks->task_mm, &mm) ||
	    !address_is_kernel_pointer(mm) ||
	    !stacks_read(copy, mm + stacks->mm_start_stack, &start))
		return 0;
	return start;
}

/*
 * Returns the physical address of the page tables of the mm_struct to which the pointer at ADDRESS
 * leads; 0: not known. On arm64 a table may lie anywhere in its page. The function is not inline:
 * few stops call it, and inline code would lengthen the other stops.
 */
static __attribute__((noinline, unused)) uint64_t stacks_read_tables(struct copy *copy,
								     uint64_t address)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t mm, pgd, frame;

	if (!stacks->mm_pgd || !stacks_read(copy, address, &mm) || !address_is_kernel_pointer(mm) ||
	    !stacks_read(copy, mm + stacks->mm_pgd, &pgd) || !address_is_kernel_pointer(pgd))
		return 0;
	frame = piece_writer_find_frame(&copy->writer, copy->kernel, pgd).value;
	return frame ? frame << GUEST_PAGE_SHIFT | (pgd & GUEST_PAGE_MASK) : 0;
}

/*
 * Bytes to copy of a user stack above ADDRESS if the resolver has not learned its end; UNKNOWN if
 * nothing else tells where the stack ends.
 */
static inline uint64_t stacks_new_bytes(struct copy *copy, uint64_t address,
					uint64_t thread_pointer, uint64_t unknown)
{
	uint64_t end = thread_pointer;

	if (!stacks_may_end(address, end))
		end = stacks_read_start_stack(copy);
	return stacks_may_end(address, end) ? end - address : unknown;
}

/*
 * Bytes to copy of a user stack above ADDRESS, whether or not the resolver has learned its end;
 * UNKNOWN if nothing tells where the stack ends.
 */
static inline uint64_t stacks_user_bytes(struct copy *copy, uint64_t address,
					 uint64_t thread_pointer, uint64_t unknown)
{
	uint64_t bytes = stacks_learned_bytes(copy, address);

	return bytes ? bytes : stacks_new_bytes(copy, address, thread_pointer, unknown);
}

#endif
