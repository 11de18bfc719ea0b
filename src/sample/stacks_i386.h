/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: the part of copying stacks that depends on Linux of i386. Sampler's thread,
 * also while the guest is stopped.
 */
#ifndef SAMPLE_STACKS_I386_H
#define SAMPLE_STACKS_I386_H

#include "sample/stacks.h"

static inline bool stacks_is_i386(const struct registers *regs)
{
	return regs->arch == ARCH_X86 && regs->width != WIDTH_64;
}

/* Whether STACKS, which has a per_cpu_table, can be that of a kernel of i386. */
bool stacks_i386_check(const struct linux_stacks *stacks);
/* As stacks_copy_linux() of stacks_x86.h. */
void stacks_i386_copy_linux(struct copy *copy, bool user);

#endif
