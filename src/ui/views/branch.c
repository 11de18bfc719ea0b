/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of a call tree on the screen. */
#include "config.h"

#include "ui/views/branch.h"

#include <stdio.h>

/*
 * Draws "│  ├─ ": three cells for each fork above the line. The last fork has a corner, unless the
 * line goes straight on. If forks need more than half of WIDTH, "…" replaces the first ones.
 */
static int branch_draw_forks(const struct call_tree_line *line, struct canvas *canvas, int row,
			     int column, int width)
{
	unsigned room = width > 6 ? (unsigned)width / 6 : 1, first = 0;

	if (line->forks > room) {
		first = line->forks - room;
		canvas_put(canvas, row, column, 1, STYLE_DIM, "…");
	}
	for (unsigned fork = first; fork < line->forks; fork++) {
		bool bar = line->bars >> fork & 1, own = fork + 1 == line->forks && !line->straight;
		const char *text = own ? bar ? "├─ " : "└─ " : bar ? "│  " : "   ";

		column += canvas_put(canvas, row, column, width, STYLE_DIM, text);
	}
	return column;
}

static int branch_draw_name(const struct ui_model *model, const struct call_tree_line *line,
			    struct canvas *canvas, int row, int column, int width)
{
	char buffer[SNAPSHOT_NAME_BYTES];
	const struct frame *frame;

	if (line->frame == FRAME_NONE)
		return canvas_printf(canvas, row, column, STYLE_DIM, "… %zu more", line->more);
	frame = frames_get(model->all->frames, line->frame);
	return canvas_put_name(canvas, row, column, width,
			       view_matches(model, line->frame)                     ? STYLE_MATCH
			       : frames_is_process(model->all->frames, line->frame) ? STYLE_TITLE
			       : frame->unknown || frame->kind == FRAME_KIND_MARK   ? STYLE_DIM
										    : STYLE_NORMAL,
			       view_frame_name(model, line->frame, buffer));
}

int branch_draw(const struct ui_model *model, const struct call_tree_line *line,
		struct canvas *canvas, int row, int column, int width)
{
	int end = column + width;

	column = branch_draw_forks(line, canvas, row, column, width);
	if (line->has_branches)
		canvas_put(canvas, row, column, 1, STYLE_TITLE, line->open ? "-" : "+");
	column += 2;
	return column + branch_draw_name(model, line, canvas, row, column, end - column);
}

void branch_draw_share(const struct ui_model *model, const struct call_tree_line *line,
		       const struct weights *whole, struct canvas *canvas, int row, int column)
{
	double percent =
		percent_of(weights_children(model, &line->weights), weights_children(model, whole));
	int end = canvas_columns(canvas);
	char text[32];

	column = branch_draw_forks(line, canvas, row, column, end - column);
	if (!line->straight) {
		snprintf(text, sizeof(text), "%5.1f", percent);
		canvas_put(canvas, row, column, end - column, style_of_percent(percent), text);
	}
	branch_draw_name(model, line, canvas, row, column + 6, end - column - 6);
}
