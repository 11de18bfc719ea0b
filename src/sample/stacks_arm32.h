/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to sample/: the stacks of Linux with a kernel of 32 bits on arm64. Sampler's thread. */
#ifndef SAMPLE_STACKS_ARM32_H
#define SAMPLE_STACKS_ARM32_H

#include "sample/stacks.h"

/* As stacks_copy_linux() of stacks_x86.h, for a vCPU with registers_is_arm32(). */
void stacks_arm32_copy_linux(struct copy *copy, bool user);

#endif
