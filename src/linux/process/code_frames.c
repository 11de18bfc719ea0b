/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash of sets, by the number of the frame: CODE_FRAMES_WAYS places for each hash, of which the one
 * that was filled first makes room. Its size is fixed: a guest with more code than it has places for
 * loses names of processes that have ended, no more. See code_frames.h. Resolver's thread.
 */
#include "config.h"

#include "linux/process/code_frames.h"

#include <stdlib.h>

#define CODE_FRAMES_WAYS 4
#define CODE_FRAMES_SETS (CODE_FRAMES_MAX / CODE_FRAMES_WAYS)

struct code_frames {
	struct code_frame sets[CODE_FRAMES_SETS][CODE_FRAMES_WAYS];
};

struct xtop_error *code_frames_create(struct code_frames **framesp)
{
	struct code_frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return error_create("out of memory for the guest's files");
	*framesp = frames;
	return NULL;
}

void code_frames_destroy(struct code_frames *frames)
{
	free(frames);
}

static size_t code_frames_set(uint64_t frame)
{
	return (frame * 0x9e3779b97f4a7c15ULL >> 32) % CODE_FRAMES_SETS; /* Fibonacci hashing */
}

const struct code_frame *code_frames_find(const struct code_frames *frames, frame_t frame)
{
	const struct code_frame *set = frames->sets[code_frames_set(frame.value)];

	for (unsigned i = 0; frame.value && i < CODE_FRAMES_WAYS; i++)
		if (set[i].frame == frame.value)
			return &set[i];
	return NULL;
}

/* The place of FRAME, or where it can go; free ones are of the time 0. */
static struct code_frame *code_frames_place(struct code_frames *frames, uint64_t frame)
{
	struct code_frame *set = frames->sets[code_frames_set(frame)], *oldest = set;

	for (unsigned i = 0; i < CODE_FRAMES_WAYS; i++) {
		if (set[i].frame == frame)
			return &set[i];
		if (set[i].since_ns < oldest->since_ns)
			oldest = &set[i];
	}
	return oldest;
}

void code_frames_add(struct code_frames *frames, const struct code_frame *seen)
{
	struct code_frame *place = code_frames_place(frames, seen->frame);

	/* Seen again: it has been there since then. */
	if (place->frame != seen->frame || place->file != seen->file || place->page != seen->page)
		*place = *seen;
}
