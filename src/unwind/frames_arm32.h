/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of its frame an interrupted function of 32-bit ARM code has made, by the function's
 * instructions. The unwind tables (exidx.h) are right only at calls. Any thread; no state.
 */
#ifndef XTOP_UNWIND_FRAMES_ARM32_H
#define XTOP_UNWIND_FRAMES_ARM32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_arm32 {
	uint32_t depth_bytes; /* the caller's stack pointer - the stack pointer */
	bool in_link;         /* the return address is in lr, and not on the stack */
};

/*
 * Finds the frame before the instruction at offset AT in CODE, the bytes of a function. Returns
 * false, with *FRAME untouched, if the instructions do not tell.
 */
bool frame_arm32_find(const uint8_t *code, size_t size_bytes, size_t at,
		      struct frame_arm32 *frame);

#endif
