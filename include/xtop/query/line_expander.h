/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots with source lines and inlined functions (--lines). With --lines the resolver's frames
 * are places in functions (frames_intern_line()). This module asks another process for their lines
 * (line_client.h). The result has frames of its own: functions, and below them the functions that
 * were inlined at the place. Nodes that have become equal are merged.
 *
 * Only the thread that shows the snapshots uses an object. All snapshots of an object come from one
 * resolver.
 */
#ifndef XTOP_LINE_EXPANDER_H
#define XTOP_LINE_EXPANDER_H

#include "xtop/profile/annotation.h"
#include "xtop/profile/snapshot.h"
#include "xtop/supervise/line_client.h"

#define LINE_EXPANDER_INLINED_MARK " (inlined)" /* what the name of an inlined function ends in */
#define LINE_EXPANDER_WAIT_S       60 /* how long a result that is written once waits for lines */

struct line_expander;

struct line_expander_settings {
	struct line_client *lines; /* reads the lines; borrowed */
	bool inlined;  /* inlined functions are frames: "NAME (inlined)" */
	bool in_names; /* each line of a function is a frame: "NAME FILE:LINE" */
};

struct xtop_error *line_expander_create(const struct line_expander_settings *settings,
					struct line_expander **expanderp);
void line_expander_destroy(
	struct line_expander *expander); /* NULL allowed; destroy its snapshots first */
/* Sets whether the next results have inlined functions. Earlier results stay as they are. */
void line_expander_set_inlined(struct line_expander *expander, bool inlined);
bool line_expander_has_inlined(const struct line_expander *expander);
/*
 * Builds a result out of FROM with the lines that are known. Asks for the other lines, for the
 * heaviest frames first, and waits for them for at most SECONDS. Error: out of memory.
 */
struct xtop_error *line_expander_apply(struct line_expander *expander, const struct snapshot *from,
				       double seconds, struct snapshot **top);

/* Whether lines have come since the last call. EXPANDER may be NULL. */
bool line_expander_poll(struct line_expander *expander);

/*
 * Asks for the lines of FROM's frames, and waits for them for at most SECONDS. For a text that
 * shows FROM itself.
 */
struct xtop_error *line_expander_ask(struct line_client *lines, const struct snapshot *from,
				     double seconds);
/* The functions at FRAME's place, the innermost first. answer->n 0: nothing is known. */
void line_expander_find(struct line_client *lines, const struct frame *frame,
			struct line_answer *answer);
/* "tcp.c:1478", not clean. False: the line is not known. */
bool line_expander_print(const struct line_frame *line, char *text, size_t capacity);

/* The resolver's frame from which FRAME of a result was made; FRAME_NONE: FRAME is inlined. */
uint32_t line_expander_get_origin(const struct line_expander *expander, uint32_t frame);
/* Replaces FROM's frames in ANNOTATION by frames of the results. */
void line_expander_translate_annotation(struct line_expander *expander, const struct snapshot *from,
					struct annotation *annotation);

#endif
