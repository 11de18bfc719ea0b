/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of a snapshot that have weight, one after the other, as most formats want them. */
#ifndef EXPORT_STACKS_H
#define EXPORT_STACKS_H

#include "xtop/export/export.h"

/*
 * Ids of frames. Without addresses all unnamed frames of a kind and module have one id. Where
 * nothing but a process or thread is known, it stands in FRAMES. With lines a place in a function
 * has its own id.
 */
struct stack {
	uint32_t process, thread; /* FRAME_NONE: none */
	const uint32_t *frames;   /* outermost first: functions and marks */
	const uint32_t *whole;    /* process and thread, then these frames */
	size_t n, n_whole;
	uint64_t samples;
	double ticks; /* since start or reset */
};

struct stacks {
	const struct snapshot *snapshot;
	const struct snapshot_node *nodes;
	struct snapshot_node *copy; /* the nodes that the filter leaves; NULL without a filter */
	bool addresses, lines;
	size_t next; /* index of the next node */
	uint32_t path[SNAPSHOT_MAX_DEPTH + 1]; /* by depth, the root left out */
};

struct xtop_error *stacks_init(struct stacks *stacks, const struct snapshot *snapshot,
			       const struct export_settings *settings);
void stacks_deinit(struct stacks *stacks);
/* False: there are no more. *STACK lives until the next call. The same stack may come twice. */
bool stacks_next(struct stacks *stacks, struct stack *stack);

/*
 * Where most of the weight of FRAME is in its source, as the snapshot or the waits of SETTINGS
 * know. LINE 0: not known. The file's name is the first FILE_BYTES of FILE.
 */
struct source_position {
	const char *file;
	size_t file_bytes;
	uint32_t line;
};
struct source_position source_find(const struct snapshot *snapshot,
				   const struct export_settings *settings, uint32_t frame);

/* Numbers for the frames that a file has, from 0 on, in the order in which they are asked for. */
struct numbering {
	uint32_t *numbers; /* by frame: 1 + its number; 0: none yet */
	uint32_t *frames;  /* by number */
	size_t n, capacity;
	bool failed;       /* out of memory: some frames have another's number */
};

bool numbering_init(struct numbering *numbering, const struct snapshot *snapshot);
/* Room for the frames of the waits, too. */
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

/*
 * How long a tick is: 1 s where nobody knows the rate. In a snapshot of a run it is known; a tick
 * of waits is a millisecond.
 */
static inline double stacks_ns_per_tick(const struct snapshot *snapshot)
{
	if (snapshot->waits)
		return 1e6;
	return 1e9 / (snapshot_get_run(snapshot)->sampler.rate_asked_hz > 0
			      ? snapshot_get_run(snapshot)->sampler.rate_asked_hz
			      : 1);
}

#endif
