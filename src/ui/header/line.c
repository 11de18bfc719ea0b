/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of ranked texts. */
#include "config.h"

#include "ui/header/line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void line_add(struct line *line, bool right, int rank, enum style style, const char *format, ...)
{
	struct line_text *text = &line->texts[line->n];
	va_list arguments;

	if (line->n == LINE_MAX_TEXTS)
		return;
	text->right = right;
	text->rank = rank;
	text->is_shown = false;
	text->short_bytes = 0;
	text->style = style;
	va_start(arguments, format);
	vsnprintf(text->text, sizeof(text->text), format, arguments);
	va_end(arguments);
	if (text->text[0])
		line->n++;
}

void line_shorten(struct line *line, const char *bytes)
{
	struct line_text *text = line->n ? &line->texts[line->n - 1] : NULL;
	size_t length = text ? strcspn(text->text, bytes) : 0;

	if (text && text->text[length])
		text->short_bytes = length;
}

/* Cells that one side of the line takes, with " · " between the texts. */
static int line_width(const struct line *line, bool right)
{
	int width = 0;

	for (size_t i = 0; i < line->n; i++)
		if (line->texts[i].right == right && line->texts[i].is_shown)
			width += canvas_text_width(line->texts[i].text) + (width ? 3 : 0);
	return width;
}

static void line_fit_text(struct line *line, struct line_text *text, int room)
{
	text->is_shown = true;
	if (!text->rank || line_width(line, false) + line_width(line, true) + 2 <= room)
		return;
	if (text->short_bytes) {
		text->text[text->short_bytes] = '\0';
		text->short_bytes = 0;
		line_fit_text(line, text, room);
		return;
	}
	text->is_shown = false;
}

static void line_fit(struct line *line, int room)
{
	for (int rank = 0; rank <= LINE_MAX_RANK; rank++)
		for (size_t i = 0; i < line->n; i++)
			if (line->texts[i].rank == rank)
				line_fit_text(line, &line->texts[i], room);
}

static void line_put_side(const struct line *line, bool right, struct canvas *canvas, int row,
			  int column)
{
	bool first = true;

	for (size_t i = 0; i < line->n; i++) {
		const struct line_text *text = &line->texts[i];

		if (text->right != right || !text->is_shown)
			continue;
		if (!first)
			column += canvas_put(canvas, row, column, 3, STYLE_DIM, " · ");
		first = false;
		column += canvas_put(canvas, row, column, canvas_columns(canvas) - column,
				     text->style, text->text);
	}
}

void line_draw(struct line *line, struct canvas *canvas, int row)
{
	int room = canvas_columns(canvas) - 2;

	line_fit(line, room);
	line_put_side(line, false, canvas, row, 1);
	line_put_side(line, true, canvas, row, room + 1 - line_width(line, true));
}
