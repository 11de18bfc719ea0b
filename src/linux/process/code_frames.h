/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which page of which file lies in a frame of the guest: what names code whose process is gone
 * (files.h). Only what was seen; that it still is so is for who asks to find out. Resolver's thread.
 */
#ifndef XTOP_PROCESS_CODE_FRAMES_H
#define XTOP_PROCESS_CODE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/error.h"
#include "xtop/types.h"

#define CODE_FRAMES_MAX 32768 /* kept: 128 MiB of code; of four that hash alike the oldest makes room */

struct code_frame {
	uint64_t frame;    /* 0: none */
	uint64_t file;     /* files.c's number of it */
	uint64_t page;     /* of the file */
	uint64_t since_ns; /* when that was first seen */
};

struct code_frames;

struct xtop_error *code_frames_create(struct code_frames **framesp);
void code_frames_destroy(struct code_frames *frames); /* NULL allowed */
/* SEEN->frame is not 0. What was known to be in that frame before is not there any more. */
void code_frames_add(struct code_frames *frames, const struct code_frame *seen);
/* NULL: nothing was seen there. Until the next add. */
const struct code_frame *code_frames_find(const struct code_frames *frames, frame_t frame);

#endif
