/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One step by frame pointers. */
#ifndef XTOP_UNWIND_FP_H
#define XTOP_UNWIND_FP_H

#include "unwind/cursor.h"
#include "xtop/unwind.h"

/*
 * SPACE may be NULL; with it a vCPU caught on the first byte of a function still gets its caller.
 * STEP_NOT_COVERED: the frame's rbp is not known. Whether there is code where it leads is for the
 * caller to see.
 */
enum unwind_step fp_step(const struct unwind_space *space, struct cursor *cursor);

#endif
