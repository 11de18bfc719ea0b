/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of its frame an interrupted function of 32-bit ARM code has made. Unwind tables tell
 * what holds where it calls others (exidx.h); its instructions tell the rest. Any thread; no state.
 */
#ifndef XTOP_UNWIND_FRAMES_ARM32_H
#define XTOP_UNWIND_FRAMES_ARM32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_arm32 {
	uint32_t depth_bytes; /* the stack pointer is so far below the caller's */
	bool in_link;         /* the return address is in lr, and not on the stack */
};

/*
 * The frame at the instruction at AT of a function's CODE. False: the instructions do not tell;
 * *FRAME is untouched.
 */
bool frame_arm32_find(const uint8_t *code, size_t size_bytes, size_t at,
		      struct frame_arm32 *frame);

#endif
