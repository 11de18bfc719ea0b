/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who calls a function, and who calls those, merged into a tree and laid out as lines to stand
 * below its row:
 *
 *        ├─ 92.4 tcp_sendmsg          a fork: one line a branch, hottest first, with its share of
 *        │       sock_write_iter      the function; below it, as long as there is only one
 *        │       ksys_write           caller, its callers outwards
 *        └─  7.6 tcp_sendpage
 *
 * A function that stands several times in a stack is looked at from its outermost call, so that
 * the branches add up to all of it.
 */
#ifndef UI_UNFOLD_H
#define UI_UNFOLD_H

#include "ui/view.h"

#define UNFOLD_MAX_LINES 64
#define UNFOLD_MAX_FORKS 12       /* one inside the other; callers behind that are not shown */
#define UNFOLD_MIN_PERCENT 0.5    /* branches below go into one line */

struct unfold_line {
	uint32_t frame;    /* FRAME_NONE: what is left over */
	uint64_t key;      /* tells this path from others, also in the next snapshot */
	double percent;    /* of the function; negative: same as the line above */
	size_t more;       /* FRAME_NONE: branches in it */
	unsigned forks;    /* the line is inside so many */
	uint32_t bars;     /* bit i: at fork i more branches follow below */
};

struct unfolding {
	size_t n;
	struct unfold_line *lines;
};

/* NODES: the snapshot's as the model's filter leaves them (filter_nodes()), once for all rows. */
struct xtop_error *unfold_build(const struct ui_model *model, const struct snapshot_node *nodes,
				uint32_t frame, struct unfolding *unfolding);
void unfold_free(struct unfolding *unfolding);
void unfold_draw_line(const struct ui_model *model, const struct unfold_line *line,
		      struct canvas *canvas, int row, int column, int width);

#endif
