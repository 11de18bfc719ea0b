/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the interrupted function of 32-bit Arm code has its return address: in lr, or in its frame.
 * The function's instructions before pc tell. fp_arm32.c and exidx.c need this, because the value
 * of lr does not show whether it is still the return address. The resolver's thread.
 */
#ifndef XTOP_UNWIND_LINKS_ARM32_H
#define XTOP_UNWIND_LINKS_ARM32_H

#include "unwind/frames_arm32.h"
#include "xtop/base/error.h"
#include "xtop/unwind/code.h"

struct links;

/* *SOURCE is copied, and closed by links_destroy(). Error: out of memory; the source stays open. */
struct xtop_error *links_create(const struct code_source *source, struct links **linksp);
void links_destroy(struct links *links); /* NULL allowed */
size_t links_memory_bytes(const struct links *links);

/*
 * Finds where the function at PC, in the image, has its return address. *IN_LINK: true for lr,
 * false for the frame. Returns false if the code does not tell.
 */
bool links_find(struct links *links, uint64_t pc, bool thumb, bool *in_link);
/* Finds the frame that the function at PC, in ARM code, has made. False: the code does not tell. */
bool links_find_frame(struct links *links, uint64_t pc, struct frame_arm32 *frame);

#endif
