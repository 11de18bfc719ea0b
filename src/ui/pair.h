/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares two guests on a third guest screen. Its picture is the newest one of the first guest;
 * its baseline is the newest picture of the second guest. Only a guest's resolver may add to the
 * guest's table of names. So the pair has a table of its own, and both pictures are translated into
 * it.
 *
 * The UI's thread.
 */
#ifndef UI_PAIR_H
#define UI_PAIR_H

#include "ui/guest_screen.h"

struct pair {
	struct guest_screen *now, *base; /* outlive the pair */
	struct guest_screen *screen;     /* shows NOW against BASE */
	struct ui_pipeline pipeline;     /* the screen's pipeline, without a slot */
	struct frames *frames;
	uint64_t now_sequence, base_sequence; /* sequence numbers of the pictures compared */
	char name[sizeof(((struct guest_screen *)0)->name)];
};

/* Both guests must have a picture. */
struct xtop_error *pair_create(struct guest_screen *now, struct guest_screen *base,
			       double half_life_s, struct pair **pairp);
void pair_destroy(struct pair *pair); /* NULL allowed */
/*
 * Translates newer pictures of the two guests, if there are any. A frozen screen keeps its
 * baseline. *CHANGEDP: whether there was a newer picture, so that the screen must be drawn.
 */
struct xtop_error *pair_update(struct pair *pair, uint64_t now_ns, bool *changedp);

#endif
