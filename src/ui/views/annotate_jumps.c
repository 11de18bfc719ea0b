/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jumps as arrows. */
#include "config.h"

#include "ui/views/annotate_jumps.h"

#include <stdlib.h>

#define JUMPS_MAX_ROWS 512 /* lines of a screen that get arrows */
#define JUMPS_MAX      256 /* jumps that are drawn at once */

/* A jump, in lines of the screen. */
struct jump {
	int from, to;    /* lines; < 0 or >= page if the end is not on the screen */
	int first, last; /* the lines of the screen that the arrow touches */
	int lane;
	size_t distance; /* rows between both ends */
	bool selected;
};

struct jumps {
	struct jump jumps[JUMPS_MAX];
	size_t n;
	const struct jump_rows *rows;
	int page;
	bool taken[JUMPS_MAX_ROWS][JUMP_LANES];
};

static int jumps_line(const struct jumps *jumps, size_t row)
{
	const struct jump_rows *rows = jumps->rows;
	int line = row < rows->top              ? -1
		   : row - rows->top < rows->n ? rows->lines[row - rows->top]
					       : jumps->page;

	return line < jumps->page ? line : jumps->page;
}

/* Finds jumps with an end on the screen. A function may have a million jumps. */
static void jumps_find(struct jumps *jumps, const struct instructions *instructions,
		       size_t selected)
{
	size_t top = jumps->rows->top;

	for (size_t i = 0; i < instructions->n && jumps->n < JUMPS_MAX; i++) {
		size_t row = (top + i) % instructions->n, to = instructions->rows[row].jump;
		struct jump *jump = &jumps->jumps[jumps->n];

		if (to == INSTRUCTION_NONE)
			continue;
		*jump = (struct jump){ .from = jumps_line(jumps, row),
				       .to = jumps_line(jumps, to),
				       .distance = row < to ? to - row : row - to,
				       .selected = row == selected };
		jumps->n += (jump->from >= 0 && jump->from < jumps->page) ||
			    (jump->to >= 0 && jump->to < jumps->page);
	}
}

/* The selected jump comes first, then short jumps. */
static int jumps_compare(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;

	if (x->selected != y->selected)
		return x->selected ? -1 : 1;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static void jump_set_span(struct jump *jump, int page)
{
	int first = jump->from < jump->to ? jump->from : jump->to;
	int last = jump->from < jump->to ? jump->to : jump->from;

	jump->first = first < 0 ? 0 : first;
	jump->last = last >= page ? page - 1 : last;
}

/* The free lane that is next to the text; JUMP_LANES if no lane is free. */
static int jumps_take_lane(struct jumps *jumps, int first, int last)
{
	int lane = 0;

	while (lane < JUMP_LANES) {
		int line = first;

		while (line <= last && !jumps->taken[line][lane])
			line++;
		if (line > last)
			break;
		lane++;
	}
	for (int line = first; lane < JUMP_LANES && line <= last; line++)
		jumps->taken[line][lane] = true;
	return lane;
}

/* Draws an end of a jump: a line from the lane at COLUMN to the text. */
static void jump_draw_end(struct canvas *canvas, int row, int column, int text, enum style style,
			  const char *corner)
{
	canvas_put(canvas, row, column, 1, style, corner);
	for (int at = column + 1; at < text; at++)
		canvas_put(canvas, row, at, 1, style, "─");
}

static void jump_draw(const struct jump *jump, struct canvas *canvas, struct area area, int column)
{
	int at = column + 2 * (JUMP_LANES - 1 - jump->lane), text = column + JUMP_CELLS - 1;
	enum style style = jump->selected ? STYLE_MATCH : STYLE_DIM;
	int ends[] = { jump->from, jump->to };

	for (int line = jump->first; line <= jump->last; line++)
		canvas_put(canvas, area.row + line, at, 1, style, "│");
	for (int i = 0; i < 2; i++) {
		bool above = ends[i] <= ends[!i];

		if (ends[i] < 0 || ends[i] >= area.rows)
			continue;
		jump_draw_end(canvas, area.row + ends[i], at, text, style, above ? "┌" : "└");
		if (i == 1)
			canvas_put(canvas, area.row + ends[i], text - 1, 1, style, ">");
	}
}

void jumps_draw(const struct instructions *instructions, const struct jump_rows *rows,
		size_t selected, struct canvas *canvas, struct area area, int column)
{
	struct jumps *jumps = calloc(1, sizeof(*jumps));

	if (!jumps)
		return;
	jumps->page = area.rows < JUMPS_MAX_ROWS ? area.rows : JUMPS_MAX_ROWS;
	area.rows = jumps->page;
	jumps->rows = rows;
	jumps_find(jumps, instructions, selected);
	qsort(jumps->jumps, jumps->n, sizeof(jumps->jumps[0]), jumps_compare);
	for (size_t i = 0; i < jumps->n; i++) {
		struct jump *jump = &jumps->jumps[i];

		jump_set_span(jump, jumps->page);
		jump->lane = jumps_take_lane(jumps, jump->first, jump->last);
		if (jump->lane < JUMP_LANES)
			jump_draw(jump, canvas, area, column);
	}
	free(jumps);
}
