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

/*
 * Copies all pieces of stack that led a vCPU of an arm64 Linux to where it is, as
 * stacks_copy_linux() does on x86-64 (stacks_x86.h).
 */
void stacks_arm64_copy_linux(struct copy *copy, bool user);

/*
 * Both functions do on arm64 what stacks_find_running() and stacks_map_task() do on x86-64
 * (stacks_x86.h).
 */
struct copy_task stacks_arm64_find_running(struct copy *copy);
void stacks_arm64_map_task(struct copy *copy, const struct copy_task *running);

#endif
