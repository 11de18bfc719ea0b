/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots with source lines and inlined functions (--lines). With --lines the resolver's frames
 * are places in functions (frames_intern_line()). This module asks another process for their lines
 * (lines.h). The result has frames of its own: functions, and below them the functions that
 * were inlined at the place. Nodes that have become equal are merged.
 *
 * Only the thread that shows the snapshots uses an object. All snapshots of an object come from one
 * resolver.
 */
#ifndef XTOP_LINED_H
#define XTOP_LINED_H

#include "xtop/profile/annotation.h"
#include "xtop/profile/snapshot.h"
#include "xtop/supervise/lines.h"

#define LINED_INLINED_MARK " (inlined)" /* what the name of an inlined function ends in */
#define LINED_WAIT_S 60 /* how long a result that is written once waits for lines */

struct lined;

struct lined_settings {
	bool inlined;  /* inlined functions are frames: "NAME (inlined)" */
	bool in_names; /* each line of a function is a frame: "NAME FILE:LINE" */
};

struct xtop_error *lined_create(const struct lined_settings *settings, struct lined **linedp);
void lined_destroy(struct lined *lined); /* NULL allowed; destroy its snapshots first */
/* Changes what the next result has. Earlier results and their frames stay as they are. */
void lined_set_inlined(struct lined *lined, bool inlined);
bool lined_has_inlined(const struct lined *lined);
/*
 * Builds a result out of FROM with the lines that are known. Asks for the other lines, those of the
 * heaviest frames first, and waits for them for at most SECONDS. Error: out of memory.
 */
struct xtop_error *lined_apply(struct lined *lined, const struct snapshot *from, double seconds,
			       struct snapshot **top);

/*
 * For a text that has the frames of FROM themselves: asks for their lines, and waits for them for
 * at most SECONDS.
 */
struct xtop_error *lined_ask(const struct snapshot *from, double seconds);
/* What is known of FRAME's place, the innermost function first. n 0: nothing. */
void lined_find(const struct frame *frame, struct line_answer *answer);
/* "tcp.c:1478", not clean. False: the line is not known. */
bool lined_print(const struct line_frame *line, char *text, size_t capacity);

/* The resolver's frame from which FRAME of a result was made; FRAME_NONE: FRAME is inlined. */
uint32_t lined_get_origin(const struct lined *lined, uint32_t frame);
/* Gives ANNOTATION, which has the frames of FROM, the frames of the results. */
void lined_translate_annotation(struct lined *lined, const struct snapshot *from,
				struct annotation *annotation);

#endif
