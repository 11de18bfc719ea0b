/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots with source lines and inlined functions (--lines). The resolver's frames are places in
 * functions then (frames_intern_line()): what they say is asked here, and looked up by another
 * process (xtop/lines.h). The result has frames of its own: functions, with those that were inlined
 * at a place as frames below it, and it merges what is equal then.
 *
 * One thread for each object: the one that shows the snapshots. All of one object come from one
 * resolver.
 */
#ifndef XTOP_LINED_H
#define XTOP_LINED_H

#include "xtop/annotation.h"
#include "xtop/snapshot.h"

#define LINED_WAIT_S 60 /* for the lines of a result that is written once */

struct lined;

struct lined_settings {
	bool inlined;  /* inlined functions are frames: "NAME (inlined)" */
	bool in_names; /* each line of a function is a frame: "NAME FILE:LINE" */
};

struct xtop_error *lined_create(const struct lined_settings *settings, struct lined **linedp);
void lined_destroy(struct lined *lined); /* NULL allowed; destroy its snapshots first */
/* From the next result on; frames and results that are there stay. */
void lined_set_inlined(struct lined *lined, bool inlined);
bool lined_has_inlined(const struct lined *lined);
/*
 * FROM with what is known by now. What is not known is asked for, those that weigh most first, and
 * waited for, for SECONDS at most.
 */
struct xtop_error *lined_apply(struct lined *lined, const struct snapshot *from, double seconds,
			       struct snapshot **top);

/* The resolver's frame that FRAME of a result was made of; FRAME_NONE: none, as it was inlined. */
uint32_t lined_get_origin(const struct lined *lined, uint32_t frame);
/* ANNOTATION, whose frames are those of FROM, gets the frames of the results. */
void lined_translate_annotation(struct lined *lined, const struct snapshot *from,
				struct annotation *annotation);

#endif
