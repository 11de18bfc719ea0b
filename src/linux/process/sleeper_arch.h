/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depends on the processor in the stack of a task that left its CPU. One file for each
 * architecture, sleeper_x86.c so far. Resolver's thread; pure functions.
 */
#ifndef XTOP_PROCESS_SLEEPER_ARCH_H
#define XTOP_PROCESS_SLEEPER_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/types.h"

/*
 * The registers that the task will have when its call of the scheduler's switch returns: its stack
 * begins at SP, with the SIZE_BYTES at STACK. False: the stack is too short.
 */
bool sleeper_arch_get_registers(uint64_t sp, const void *stack, size_t size_bytes,
				struct registers *regs);
/* The stack pointer of the user code that entered the kernel there. False: there is none. */
bool sleeper_arch_get_user_sp(const void *stack, size_t size_bytes, uint64_t *sp);

/* A system call as its registers were saved at the end of the stack. */
struct system_call {
	uint64_t number;
	uint64_t arguments[6];
};
/* False: the task did not enter the kernel from user code by a system call. */
bool sleeper_arch_get_call(const void *stack, size_t size_bytes, struct system_call *call);

#endif
