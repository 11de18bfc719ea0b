/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jumps as arrows beside the instructions on the screen. Each jump takes a lane. Short jumps have
 * the lanes next to the text:
 *
 *	┌──── je     +0x20       from here
 *	│ ┌── jmp    +0x18
 *	│ └─> mov    ...         to there
 *	└───> ret
 *
 * The arrow of a jump whose other end is not on the screen ends at the edge. Jumps without a free
 * lane are left out. Main's thread.
 */
#ifndef UI_VIEWS_ANNOTATE_JUMPS_H
#define UI_VIEWS_ANNOTATE_JUMPS_H

#include "ui/terminal/canvas.h"
#include "xtop/query/instructions.h"

#define JUMP_LANES 4
#define JUMP_CELLS (2 * JUMP_LANES + 2) /* width of all lanes, with a blank after them */

/* N instructions on the screen: instruction TOP + i is on line LINES[i]. */
struct jump_rows {
	size_t top, n;
	const int *lines; /* ascending */
};

/*
 * Draws the jumps of INSTRUCTIONS, whose ROWS are drawn in AREA, from COLUMN on. The jump of
 * instruction SELECTED is highlighted.
 */
void jumps_draw(const struct instructions *instructions, const struct jump_rows *rows,
		size_t selected, struct canvas *canvas, struct area area, int column);

#endif
