/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack of a process of this machine as a sample has it, and where the process has its code. For
 * languages whose functions run on the threads' own stacks.
 */
#ifndef TESTS_LIVE_STACK_H
#define TESTS_LIVE_STACK_H

#include "tests/support/live_process.h"
#include "xtop/symbol/image.h"

#define LIVE_STACK_BYTES (SAMPLE_STACK_LIMIT_BYTES + 4096)

/* The code of PROCESS: files with symbols and unwind tables, and memory without a file. */
struct space *live_stack_create_space(const struct live_process *process);
/*
 * Stops THREAD of PROCESS for as long as it takes to copy its registers and stack to
 * BUFFER, which has LIVE_STACK_BYTES. NULL: it cannot be stopped.
 */
const struct sample_vcpu *live_stack_copy(const struct live_process *process, pid_t thread,
					  void *buffer);

/* Sets the registers of a sample to those of a process that is traced. */
struct user_regs_struct;
void live_set_registers(struct registers *to, const struct user_regs_struct *from);

#endif
