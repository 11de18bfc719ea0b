/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: the part of copying stacks that depends on arm64. Sampler's thread, also
 * while the guest is stopped.
 */
#ifndef SAMPLE_STACKS_ARM64_H
#define SAMPLE_STACKS_ARM64_H

#include "sample/stacks.h"

/* Whether the page tables of the vCPU can be walked: its MMU is on. */
static inline bool stacks_arm64_can_walk(const struct registers *regs)
{
	return regs->arm64.sctlr & SCTLR_ARM64_M;
}

/* As stacks_copy_linux() of stacks_x86.h. */
void stacks_arm64_copy_linux(struct copy *copy, bool user);

#endif
