/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a function of 32-bit Arm code, whose vCPU was interrupted, has its return address: in lr,
 * or in its frame. Its instructions up to there tell. fp_arm32.c asks, because lr alone does not
 * show whether it is still the function's. The resolver's thread.
 */
#ifndef XTOP_UNWIND_LINKS_ARM32_H
#define XTOP_UNWIND_LINKS_ARM32_H

#include "unwind/frames_arm32.h"
#include "xtop/base/error.h"
#include "xtop/unwind/code.h"

struct links;

/* SOURCE is copied, and closed by links_destroy(). Error: out of memory; the source stays open. */
struct xtop_error *links_create(const struct code_source *source, struct links **linksp);
void links_destroy(struct links *links); /* NULL allowed */
size_t links_memory_bytes(const struct links *links);

/* PC: in the image. False: the code does not tell. *IN_LINK: the return address is in lr. */
bool links_find(struct links *links, uint64_t pc, bool thumb, bool *in_link);
/* The frame that the function at PC, of ARM code, has made. False: the code does not tell. */
bool links_find_frame(struct links *links, uint64_t pc, struct frame_arm32 *frame);

#endif
