/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processor-dependent parts of the stack of a task that left its CPU. sleeper_arch.c calls
 * sleeper_x86.c, sleeper_i386.c or sleeper_arm64.c, by the guest's page tables. Kernels of 32-bit
 * Arm are not supported. Resolver's thread; pure functions.
 */
#ifndef XTOP_PROCESS_SLEEPER_ARCH_H
#define XTOP_PROCESS_SLEEPER_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/kernel/linux_guest.h"
#include "xtop/base/types.h"

#define SLEEPER_CONTEXT_WORDS 13 /* size of TASK_CONTEXT, see layout_members.h */

/* The live part of a task's kernel stack: SIZE_BYTES from SP to the stack's end. */
struct sleeper_stack {
	const struct linux_guest *guest; /* has the page tables and types */
	uint64_t task;                   /* address of the task_struct */
	uint64_t sp;
	const void *bytes;
	size_t size_bytes;
	/* TASK_CONTEXT of the task, if the kernel has it */
	uint64_t context[SLEEPER_CONTEXT_WORDS];
};

/*
 * The registers that the task will have when its call of the scheduler's switch returns. Returns
 * false if the stack is too short.
 */
bool sleeper_arch_get_registers(const struct sleeper_stack *stack, struct registers *regs);
/* Sets the page tables in REGS to ROOT. */
void sleeper_arch_set_root(struct registers *regs, struct memory_root root);
/* The stack pointer of the user code that entered the kernel. Returns false if there is none. */
bool sleeper_arch_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp);

/*
 * Kinds of system calls. From 424 on all architectures have the same numbers (Linux
 * include/uapi/asm-generic/unistd.h, arch/x86/entry/syscalls/syscall_64.tbl); lower numbers depend
 * on the architecture.
 */
enum system_call_kind {
	CALL_OTHER = 0,
	CALL_FUTEX = 1,         /* futex(): the number depends on the architecture */
	CALL_FUTEX_WAITV = 449, /* Linux 5.16 and later */
	CALL_FUTEX_WAIT = 455,  /* Linux 6.7 and later */
};

/* A system call, from the registers that were saved at the end of the stack. */
struct system_call {
	enum system_call_kind kind;
	uint64_t arguments[6];
};
/* Returns false if the task did not enter the kernel from user code through a system call. */
bool sleeper_arch_get_call(const struct sleeper_stack *stack, struct system_call *call);

/* The kind of system call NUMBER on an architecture where futex() has the number FUTEX. */
static inline enum system_call_kind system_call_kind(uint64_t number, uint64_t futex)
{
	if (number == futex)
		return CALL_FUTEX;
	return number == CALL_FUTEX_WAITV || number == CALL_FUTEX_WAIT
		       ? (enum system_call_kind)number
		       : CALL_OTHER;
}

/*
 * The kind of system call NUMBER in a program of 32 bits. i386 and Arm share these numbers (Linux
 * arch/x86/entry/syscalls/syscall_32.tbl, arch/arm/tools/syscall.tbl). futex_time64() differs from
 * futex() only in its timeout.
 */
#define SHORT_FUTEX        240
#define SHORT_FUTEX_TIME64 422

static inline enum system_call_kind system_call_kind_short(uint64_t number)
{
	return system_call_kind(number == SHORT_FUTEX_TIME64 ? SHORT_FUTEX : number, SHORT_FUTEX);
}

/* --- implementations for each architecture ---------------------------------------------------- */

bool sleeper_x86_get_registers(const struct sleeper_stack *stack, struct registers *regs);
bool sleeper_x86_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp);
bool sleeper_x86_get_call(const struct sleeper_stack *stack, struct system_call *call);

/* On i386 locks are not read, so system calls are not needed. */
bool sleeper_i386_get_registers(const struct sleeper_stack *stack, struct registers *regs);
bool sleeper_i386_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp);

bool sleeper_arm64_get_registers(const struct sleeper_stack *stack, struct registers *regs);
bool sleeper_arm64_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp);
bool sleeper_arm64_get_call(const struct sleeper_stack *stack, struct system_call *call);

#endif
