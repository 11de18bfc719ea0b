/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: what the stacks of Linux's kernels of 32 bits have in common, on i386 and on
 * Arm; see stacks.h. stacks_i386.c and stacks_arm32.c know the rest. The area of a CPU's own
 * variables is found by the CPU's number: i386 has the area's address in a register only while the
 * kernel runs, and Xen does not tell Arm's register. Stacks lie at multiples of their size.
 * Sampler's thread, while the guest may be stopped.
 */
#ifndef SAMPLE_STACKS_32_H
#define SAMPLE_STACKS_32_H

#include "sample/stacks.h"
#include "xtop/base/kernel_32.h"

/* Whether ADDRESS is a kernel address, with CONFIG_VMSPLIT_3G: no user address is as high. */
static inline bool stacks_32_is_kernel(uint64_t address)
{
	return address >= KERNEL_32_START && address < KERNEL_32_END;
}

static inline bool stacks_32_is_pointer(uint64_t word)
{
	return stacks_32_is_kernel(word) && word % sizeof(uint32_t) == 0;
}

/*
 * Reads the word of 4 bytes at ADDRESS. Returns false if the word cannot be read; *WORD is
 * untouched then.
 */
static inline bool stacks_32_read(struct copy *copy, uint64_t address, uint64_t *word)
{
	uint64_t half = address & sizeof(uint32_t), both;

	if (address % sizeof(uint32_t) || !stacks_read(copy, address - half, &both))
		return false;
	*word = (uint32_t)(both >> 8 * half);
	return true;
}

/* The running task's address; 0: not known. */
static inline uint64_t stacks_32_read_current(struct copy *copy)
{
	const struct linux_stacks *stacks = &copy->copier->stacks;
	uint64_t entry = stacks->per_cpu_table + sizeof(uint32_t) * copy->copier->vcpu;
	uint64_t base, task;

	if (!stacks_32_read(copy, entry, &base) ||
	    !stacks_32_read(copy, (uint32_t)(base + stacks->current_per_cpu), &task) ||
	    !stacks_32_is_pointer(task))
		return 0;
	return task;
}

/* The kernel stack that ADDRESS is on. */
static inline struct stack_extent stacks_32_stack_at(const struct copy *copy, uint64_t address)
{
	uint64_t bytes = copy->copier->stacks.stack_bytes, start = address & -bytes;

	return (struct stack_extent){ .start = start, .end = start + bytes };
}

/* Finds the stack of copied->task. Returns false if the stack is not known. */
static inline bool stacks_32_find_task(struct copy *copy)
{
	uint64_t stack;

	if (!copy->copied->task ||
	    !stacks_32_read(copy, copy->copied->task + copy->copier->stacks.task_stack, &stack) ||
	    !stacks_32_is_pointer(stack))
		return false;
	copy->task = stacks_32_stack_at(copy, stack);
	return true;
}

static inline enum sample_cut stacks_32_copy_user(struct copy *copy, enum sample_stack_kind kind,
						  uint64_t address)
{
	if (stacks_32_is_kernel(address))
		return CUT_NOT_PRESENT;
	return piece_writer_add(&copy->writer, kind, copy->own, address,
				stacks_user_bytes(copy, address, 0, COPY_UNKNOWN_BYTES));
}

/* Copies the stack of user code, and finds the frame of its page at PC. */
static inline void stacks_32_copy_user_code(struct copy *copy, uint64_t sp, uint64_t pc)
{
	copy->copied->stack_cut = stacks_32_copy_user(copy, STACK_FIRST, sp);
	if (!stacks_32_is_kernel(pc)) /* last: see stacks_code_frame() in stacks_x86.c */
		copy->copied->frame = piece_writer_find_frame(&copy->writer, copy->own, pc);
}

/* Whether the numbers in STACKS, which has a per_cpu_table, are possible for 32 bits. */
static inline bool stacks_32_check(const struct linux_stacks *stacks)
{
	return stacks->stack_bytes >= GUEST_PAGE_SIZE &&
	       stacks->stack_bytes <= SAMPLE_STACK_LIMIT_BYTES &&
	       !(stacks->stack_bytes & (stacks->stack_bytes - 1)) &&
	       stacks->task_stack <= GUEST_PAGE_SIZE && stacks->per_cpu_table < KERNEL_32_END;
}

/*
 * Both functions copy all stacks of a vCPU, as stacks_copy_linux() does on x86-64 (stacks_x86.h).
 * stacks_arm32_copy_linux() is for a vCPU of 32-bit Arm (registers_is_arm32()).
 */
void stacks_i386_copy_linux(struct copy *copy, bool user);
void stacks_arm32_copy_linux(struct copy *copy, bool user);

#endif
