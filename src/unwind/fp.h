/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One step by frame pointers. */
#ifndef XTOP_UNWIND_FP_H
#define XTOP_UNWIND_FP_H

#include "unwind/cursor.h"
#include "unwind/cursor_arm32.h"
#include "xtop/unwind.h"

enum unwind_step fp_x86_step(const struct unwind_space *space, struct cursor *cursor);
/* In a kernel of i386. */
enum unwind_step fp_i386_step(const struct unwind_space *space, struct cursor *cursor);
/* In a kernel of 32 bits on arm64. */
enum unwind_step fp_arm32_step(const struct unwind_space *space, struct cursor *cursor);
enum unwind_step fp_arm64_step(const struct unwind_space *space, struct cursor *cursor);

/*
 * SPACE may be NULL. With a space, a vCPU that was sampled in the first bytes of a function gets
 * its caller, too. STEP_NOT_COVERED: the frame pointer is not known. The caller of this function
 * checks whether there is code at the address that was found.
 */
static inline enum unwind_step fp_step(const struct unwind_space *space, struct cursor *cursor)
{
	if (cursor_is_arm32(cursor))
		return fp_arm32_step(space, cursor);
	if (cursor->arch == ARCH_ARM64)
		return fp_arm64_step(space, cursor);
	return cursor_is_i386(cursor) && !cursor->user ? fp_i386_step(space, cursor)
						       : fp_x86_step(space, cursor);
}

#endif
