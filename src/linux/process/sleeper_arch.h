/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depends on the processor in the stack of a task that left its CPU. sleeper_arch.c asks
 * sleeper_x86.c, sleeper_i386.c or sleeper_arm64.c, by the guest's page tables. These read
 * no kernel of 32-bit Arm. Resolver's thread; pure functions.
 */
#ifndef XTOP_PROCESS_SLEEPER_ARCH_H
#define XTOP_PROCESS_SLEEPER_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/kernel/linux_guest.h"
#include "xtop/base/types.h"

#define SLEEPER_CONTEXT_WORDS 13 /* of TASK_CONTEXT, which layout.c knows to be so long */

/* The live part of a task's kernel stack: SIZE_BYTES from SP to the stack's end. */
struct sleeper_stack {
	const struct linux_guest *guest; /* its page tables and types */
	uint64_t task; /* the task_struct's address */
	uint64_t sp;
	const void *bytes;
	size_t size_bytes;
	uint64_t context[SLEEPER_CONTEXT_WORDS]; /* of the task, where a kernel has TASK_CONTEXT */
};

/*
 * The registers that the task will have when its call of the scheduler's switch returns. False: the
 * stack is too short.
 */
bool sleeper_arch_get_registers(const struct sleeper_stack *stack, struct registers *regs);
/* From now on REGS are those of a task with the page tables ROOT. */
void sleeper_arch_set_root(struct registers *regs, struct memory_root root);
/* The stack pointer of the user code that entered the kernel there. False: there is none. */
bool sleeper_arch_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp);

/*
 * System calls by what they do. From 424 on all architectures have the same numbers (Linux
 * include/uapi/asm-generic/unistd.h, arch/x86/entry/syscalls/syscall_64.tbl); those before are the
 * architecture's.
 */
enum system_call_kind {
	CALL_OTHER = 0,
	CALL_FUTEX = 1,         /* no number */
	CALL_FUTEX_WAITV = 449, /* from v5.16 */
	CALL_FUTEX_WAIT = 455,  /* from v6.7 */
};

/* A system call as its registers were saved at the end of the stack. */
struct system_call {
	enum system_call_kind kind;
	uint64_t arguments[6];
};
/* False: the task did not enter the kernel from user code by a system call. */
bool sleeper_arch_get_call(const struct sleeper_stack *stack, struct system_call *call);

/* The kind of system call NUMBER on an architecture where futex() is number FUTEX. */
static inline enum system_call_kind system_call_kind(uint64_t number, uint64_t futex)
{
	if (number == futex)
		return CALL_FUTEX;
	return number == CALL_FUTEX_WAITV || number == CALL_FUTEX_WAIT
		       ? (enum system_call_kind)number
		       : CALL_OTHER;
}

/*
 * The same of a program of 32 bits. Those of i386 and of Arm have these numbers in common (Linux
 * arch/x86/entry/syscalls/syscall_32.tbl, arch/arm/tools/syscall.tbl). The second call differs in
 * its timeout alone.
 */
#define SHORT_FUTEX        240
#define SHORT_FUTEX_TIME64 422

static inline enum system_call_kind system_call_kind_short(uint64_t number)
{
	return system_call_kind(number == SHORT_FUTEX_TIME64 ? SHORT_FUTEX : number, SHORT_FUTEX);
}

/* --- the same of one architecture ------------------------------------------------------------- */

bool sleeper_x86_get_registers(const struct sleeper_stack *stack, struct registers *regs);
bool sleeper_x86_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp);
bool sleeper_x86_get_call(const struct sleeper_stack *stack, struct system_call *call);

/* What a task waits for is not read on i386, so nobody asks for its system call. */
bool sleeper_i386_get_registers(const struct sleeper_stack *stack, struct registers *regs);
bool sleeper_i386_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp);

bool sleeper_arm64_get_registers(const struct sleeper_stack *stack, struct registers *regs);
bool sleeper_arm64_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp);
bool sleeper_arm64_get_call(const struct sleeper_stack *stack, struct system_call *call);

#endif
