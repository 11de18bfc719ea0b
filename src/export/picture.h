/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as an element <svg id="flame">, and the profile from which the script
 * flame_graph.js draws another one in its place. svg.c and html.c put files around both. The
 * picture alone is what a browser without scripts shows: it has the widest cells only, each with a
 * tooltip.
 */
#ifndef EXPORT_PICTURE_H
#define EXPORT_PICTURE_H

#include "export/stacks.h"
#include "xtop/query/flame.h"

struct picture {
	const struct snapshot *snapshot;
	const struct export_settings *settings;
	struct flame flame;
	double whole; /* what 100 % is, in ticks */
};

/* COPY becomes SNAPSHOT with the nodes that the filter leaves; it must outlive the picture. */
struct xtop_error *picture_init(struct picture *picture, const struct snapshot *snapshot,
				const struct export_settings *settings, struct snapshot *copy);
void picture_deinit(struct picture *picture, struct snapshot *copy);

/* The text of flame_graph.js. */
extern const char picture_script[];
/* The element <svg>, with its style sheet, but without its end: the caller may add elements. */
void picture_put(const struct picture *picture, FILE *file);
void picture_end(FILE *file); /* "</svg>" */
/*
 * Writes "const profile = {...};" and "const waits = {...};", or null without waits. The text has
 * no '<', '>' and '&', so that it is safe in HTML and in CDATA.
 */
struct xtop_error *picture_put_profiles(const struct picture *picture, FILE *file);
/* Writes HEAD, the text, and TAIL for each note (export/notes.h). */
void picture_put_notes(const struct picture *picture, const char *head, const char *tail,
		       FILE *file);
/* "web01, PVH: 12.3 s of virtual CPUs", or "of tasks that wait" */
void picture_put_title(const struct picture *picture, FILE *file);

#endif
