/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One step by frame pointers. */
#ifndef XTOP_UNWIND_FP_H
#define XTOP_UNWIND_FP_H

#include "unwind/cursor.h"
#include "unwind/cursor_arm32.h"
#include "xtop/unwind/unwind.h"

/*
 * SPACE may be NULL. With a space, a vCPU that was sampled in the first bytes of a function gets
 * its caller, too. STEP_NOT_COVERED: the frame pointer is not known. The caller of this function
 * checks whether there is code at the address that was found.
 */
typedef enum unwind_step fp_step_fn(const struct unwind_space *space, struct cursor *cursor);

fp_step_fn fp_x86_step;
fp_step_fn fp_i386_step;  /* in a kernel of i386 */
fp_step_fn fp_arm32_step; /* in a kernel of 32 bits on arm64 */
fp_step_fn fp_arm64_step;

/* The one for all frames of the part, kernel's or user's, that the cursor is in. */
static inline fp_step_fn *fp_step_of(const struct cursor *cursor)
{
	if (cursor->arch == ARCH_ARM64)
		return cursor_is_arm32(cursor) ? fp_arm32_step : fp_arm64_step;
	return cursor_is_i386(cursor) && !cursor->user ? fp_i386_step : fp_x86_step;
}

#endif
