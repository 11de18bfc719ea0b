/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depends on the processor in the stack of a task that left its CPU. sleeper_arch.c asks
 * sleeper_x86.c or sleeper_arm64.c, by the guest's page tables. Resolver's thread; pure functions.
 */
#ifndef XTOP_PROCESS_SLEEPER_ARCH_H
#define XTOP_PROCESS_SLEEPER_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/kernel/linux_guest.h"
#include "xtop/types.h"

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

/* System calls by what they do: their numbers are those of the architecture. */
enum system_call_kind {
	CALL_OTHER,
	CALL_FUTEX,
	CALL_FUTEX_WAITV,
	CALL_FUTEX_WAIT,
};

/* A system call as its registers were saved at the end of the stack. */
struct system_call {
	enum system_call_kind kind;
	uint64_t arguments[6];
};
/* False: the task did not enter the kernel from user code by a system call. */
bool sleeper_arch_get_call(const struct sleeper_stack *stack, struct system_call *call);

/* --- the same of one architecture ------------------------------------------------------------- */

bool sleeper_x86_get_registers(const struct sleeper_stack *stack, struct registers *regs);
bool sleeper_x86_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp);
bool sleeper_x86_get_call(const struct sleeper_stack *stack, struct system_call *call);

bool sleeper_arm64_get_registers(const struct sleeper_stack *stack, struct registers *regs);
bool sleeper_arm64_get_user_sp(const struct sleeper_stack *stack, uint64_t *sp);
bool sleeper_arm64_get_call(const struct sleeper_stack *stack, struct system_call *call);

#endif
