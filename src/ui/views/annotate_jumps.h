/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jumps as arrows beside the instructions on the screen. Each jump takes a lane, the short ones the
 * lanes next to the text:
 *
 *	┌──── je     +0x20       from here
 *	│ ┌── jmp    +0x18
 *	│ └─> mov    ...         to there
 *	└───> ret
 *
 * A jump whose other end is not on the screen leaves it at the edge. Jumps that find no lane free
 * are left out. Main's thread.
 */
#ifndef UI_VIEWS_ANNOTATE_JUMPS_H
#define UI_VIEWS_ANNOTATE_JUMPS_H

#include "ui/terminal/canvas.h"
#include "xtop/query/instructions.h"

#define JUMP_LANES 4
#define JUMP_CELLS (2 * JUMP_LANES + 2) /* that arrows take, with a blank behind them */

/* N instructions on the screen: TOP + i stands on line LINES[i]. Other lines may lie between. */
struct jump_rows {
	size_t top, n;
	const int *lines; /* ascending */
};

/*
 * ROWS of INSTRUCTIONS are drawn in AREA. Draws their jumps from COLUMN on; the jump at SELECTED
 * stands out.
 */
void jumps_draw(const struct instructions *instructions, const struct jump_rows *rows,
		size_t selected, struct canvas *canvas, struct area area, int column);

#endif
