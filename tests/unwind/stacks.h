/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real stacks: this thread's registers and stack before every instruction of some work, as a
 * sampler would have copied them. This is a file of its own, since <signal.h> and cursor_x86.h use
 * the same names for registers.
 */
#ifndef TESTS_UNWIND_STACKS_H
#define TESTS_UNWIND_STACKS_H

#include "xtop/sample/sample.h"

struct stacks {
	unsigned char *bytes;
	size_t used_bytes, capacity_bytes;
	size_t n;
};

/*
 * Runs WORK in a thread, and records it before each EVERYth instruction while there is room. Each
 * record is a struct sample_vcpu; the next record begins at + size_bytes.
 */
void stacks_record(struct stacks *stacks, void (*work)(void), unsigned every,
		   size_t capacity_bytes);
void stacks_deinit(struct stacks *stacks);

void stacks_raise(void (*handler)(int)); /* runs HANDLER as a signal handler, once */
void stacks_go_on(void); /* a handler calls it first: it is entered without the trap flag */

static inline const struct sample_vcpu *stacks_first(const struct stacks *stacks)
{
	return (const struct sample_vcpu *)stacks->bytes;
}

#endif
