/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares two guests on a guest screen of its own. The picture of that screen is the newest one of
 * the first guest, and its baseline is the newest one of the second. Each guest has a table of
 * names that only its resolver may add to. So the pair has a third table, and both pictures are
 * translated into it.
 *
 * The UI's thread.
 */
#ifndef UI_PAIR_H
#define UI_PAIR_H

#include "ui/guest_screen.h"

struct pair {
	struct guest_screen *now, *base; /* they outlive the pair */
	struct guest_screen *screen;           /* shows NOW; its baseline is BASE */
	struct ui_pipeline pipeline;           /* the screen's; without a slot */
	struct frames *frames;
	uint64_t now_sequence, base_sequence;  /* of the pictures that came last */
	char name[sizeof(((struct guest_screen *)0)->name)];
};

/* Both guests have a picture. */
struct xtop_error *pair_create(struct guest_screen *now, struct guest_screen *base,
			       double half_life_s, struct pair **pairp);
void pair_destroy(struct pair *pair); /* NULL allowed */
/*
 * Translates newer pictures of the two guests, if there are any. While the screen is frozen the
 * baseline stays, too. *CHANGEDP: there was one, so the screen must be drawn anew.
 */
struct xtop_error *pair_update(struct pair *pair, uint64_t now_ns, bool *changedp);

#endif
