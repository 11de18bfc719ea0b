/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of an interpreted function; see annotate_lines.h. Shares are those of all samples, as
 * in the table of functions.
 */
#include "config.h"

#include "ui/views/annotate_lines.h"

#include <stdio.h>

#include "xtop/query/instructions.h"

#define LINES_SELF_COLUMN 9
#define LINES_LINE_COLUMN 16
#define LINES_TEXT_COLUMN 25

static uint64_t annotate_lines_key(const void *context, size_t row)
{
	const struct annotation *annotation = context;

	return row < annotation->n_lines ? annotation->lines[row].line : UINT64_MAX;
}

static double annotate_lines_weight(const struct annotation_line *line,
				    const struct ui_model *model)
{
	return model->shares.totals ? line->ticks : line->live;
}

void annotate_lines_select_hottest(struct list *list, const struct annotation *annotation,
				   const struct ui_model *model)
{
	const struct annotation_line *lines = annotation->lines;
	size_t best = 0;

	for (size_t i = 1; i < annotation->n_lines; i++)
		if (annotate_lines_weight(&lines[i], model) >
		    annotate_lines_weight(&lines[best], model))
			best = i;
	list_select(list, best);
}

void annotate_lines_update(struct list *list, const struct annotation *annotation,
			   const struct ui_model *model, bool place)
{
	list_update(list, annotation->n_lines, annotate_lines_key, annotation);
	if (place)
		annotate_lines_select_hottest(list, annotation, model);
}

static void annotate_lines_draw_row(const struct annotation_line *line, const char *file,
				    const struct ui_model *model, struct canvas *canvas,
				    struct area cell)
{
	const struct instruction_lines *lines = model->rc->no_source ? NULL : model->code.lines;
	double whole = model->shares.totals ? model->all->total_weight : model->all->live_weight;
	double self = model->shares.totals ? line->self_ticks : line->self_live;
	char number[16], text[INSTRUCTION_LINE_BYTES] = "";

	if (lines && lines->text)
		lines->text(lines->context, file, line->line, text, sizeof(text));
	if (!*text && !model->rc->no_source)
		snprintf(text, sizeof(text), "%s", line->text);
	snprintf(number, sizeof(number), "%u", line->line);
	view_put_share(canvas, cell.row, 1, percent_of(annotate_lines_weight(line, model), whole));
	view_put_share(canvas, cell.row, LINES_SELF_COLUMN, percent_of(self, whole));
	canvas_put_right(canvas, cell.row, LINES_LINE_COLUMN, 8, STYLE_DIM, number);
	canvas_put(canvas, cell.row, LINES_TEXT_COLUMN, cell.columns - LINES_TEXT_COLUMN,
		   STYLE_NORMAL, text);
}

void annotate_lines_draw(struct list *list, const struct annotation *annotation,
			 const struct ui_model *model, struct canvas *canvas, struct area area)
{
	const char *file = frames_get(model->all->frames, annotation->frame)->module;
	int rows = area.rows - 1;

	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_put_right(canvas, area.row, 0, 8, STYLE_HEADER, "Children");
	canvas_put_right(canvas, area.row, LINES_SELF_COLUMN, 7, STYLE_HEADER, "Self");
	canvas_put_right(canvas, area.row, LINES_LINE_COLUMN, 8, STYLE_HEADER, "Line");
	canvas_put(canvas, area.row, LINES_TEXT_COLUMN, area.columns - LINES_TEXT_COLUMN,
		   STYLE_HEADER, file);
	list_show(list, rows > 0 ? (size_t)rows : 0);
	for (int i = 0; i < rows && list->top + (size_t)i < list->n; i++) {
		struct area cell = { area.row + 1 + i, 1, area.columns };

		annotate_lines_draw_row(&annotation->lines[list->top + (size_t)i], file, model,
					canvas, cell);
		if (list->top + (size_t)i == list->selected)
			view_mark_row(canvas, cell.row, 0, cell.columns);
	}
}
