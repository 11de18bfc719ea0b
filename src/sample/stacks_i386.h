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

/* As stacks_copy_linux() of stacks_x86.h. */
void stacks_i386_copy_linux(struct copy *copy, bool user);

#endif
