/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A walk through the stacks of a snapshot that have weight, for most formats. */
#ifndef EXPORT_STACKS_H
#define EXPORT_STACKS_H

#include "xtop/export/export.h"

/*
 * Ids of frames. Without addresses all unnamed frames of a kind and module have one id. If
 * only the process or thread is known, FRAMES has its id. With lines a place in a function
 * has its own id.
 */
struct stack {
	uint32_t process, thread; /* FRAME_NONE if unknown */
	const uint32_t *frames;   /* outermost first: functions and marks */
	const uint32_t *whole;    /* process and thread, then these frames */
	size_t n, n_whole;
	uint64_t samples;
	double ticks; /* weight since start or reset */
};

struct stacks {
	const struct snapshot *snapshot;
	const struct snapshot_node *nodes;
	struct snapshot_node *copy; /* nodes that the filter leaves; NULL without a filter */
	bool addresses, lines;
	size_t next; /* index of the next node */
	uint32_t path[SNAPSHOT_MAX_DEPTH + 1]; /* frames by depth, without the root */
};

struct xtop_error *stacks_init(struct stacks *stacks, const struct snapshot *snapshot,
			       const struct export_settings *settings);
void stacks_deinit(struct stacks *stacks);
/* Returns false after the last stack. *STACK is valid until the next call. Stacks may repeat. */
bool stacks_next(struct stacks *stacks, struct stack *stack);

/*
 * The source line with most of the weight of FRAME, from the snapshot or from the waits of
 * SETTINGS. LINE is 0 if it is unknown. The file's name is the first FILE_BYTES of FILE.
 */
struct source_position {
	const char *file;
	size_t file_bytes;
	uint32_t line;
};
struct source_position source_find(const struct snapshot *snapshot,
				   const struct export_settings *settings, uint32_t frame);

/* Numbers for the frames of a file, from 0 on, in the order of the first requests. */
struct numbering {
	uint32_t *numbers; /* 1 + the number of each frame, by frame; 0: none yet */
	uint32_t *frames;  /* frames by number */
	size_t n, capacity;
	bool failed;       /* memory was out: some frames have the number of another frame */
};

bool numbering_init(struct numbering *numbering, const struct snapshot *snapshot);
/* Makes room for the frames of the snapshot and of the waits. */
bool numbering_init_both(struct numbering *numbering, const struct snapshot *snapshot,
			 const struct export_settings *settings);
void numbering_deinit(struct numbering *numbering);
uint32_t numbering_get(struct numbering *numbering, uint32_t frame);

/* Ids of frames in the snapshot and in the waits of SETTINGS are below this. */
static inline uint32_t stacks_n_frames(const struct snapshot *snapshot,
				       const struct export_settings *settings)
{
	const struct snapshot *waits = settings->waits;

	return waits && waits->n_frames > snapshot->n_frames ? waits->n_frames : snapshot->n_frames;
}

#endif
