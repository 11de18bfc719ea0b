/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One step by frame pointers. */
#ifndef XTOP_UNWIND_FP_H
#define XTOP_UNWIND_FP_H

#include "unwind/cursor.h"
#include "unwind/cursor_arm32.h"
#include "xtop/unwind/unwind.h"

/*
 * A step by frame pointers. SPACE may be NULL. Only with a space can the caller be found when the
 * vCPU is in the first bytes of a function, before the frame exists. STEP_NOT_COVERED: the frame
 * pointer is unknown. unwind.c checks whether there is code at the caller's address.
 */
typedef enum unwind_step fp_step_fn(const struct unwind_space *space, struct cursor *cursor);

fp_step_fn fp_x86_step;
fp_step_fn fp_i386_step;  /* i386 kernel code */
fp_step_fn fp_arm32_step; /* 32-bit Arm code */
fp_step_fn fp_arm64_step;

/*
 * Corrects the stack pointer after a step of fp_x86_step(), for a mechanism that needs it. A frame
 * that gcc has aligned has a copy of the return address above rbp: the caller's stack pointer lies
 * among the registers that were saved first, and the return address itself just below the place
 * that it tells.
 */
void fp_x86_correct_stack(struct cursor *cursor);

/* The step for all frames of the part that the cursor is in: the kernel's part or the user's. */
static inline fp_step_fn *fp_step_of(const struct cursor *cursor)
{
	if (cursor->arch == ARCH_ARM64)
		return cursor_is_arm32(cursor) ? fp_arm32_step : fp_arm64_step;
	return cursor_is_i386(cursor) && !cursor->user ? fp_i386_step : fp_x86_step;
}

#endif
