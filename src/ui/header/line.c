/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of ranked pieces; see line.h. */
#include "config.h"

#include "ui/header/line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void line_add(struct line *line, bool right, int rank, enum style style, const char *format, ...)
{
	struct piece *piece = &line->pieces[line->n];
	va_list arguments;

	if (line->n == LINE_MAX_PIECES)
		return;
	piece->right = right;
	piece->rank = rank;
	piece->kept = false;
	piece->short_bytes = 0;
	piece->style = style;
	va_start(arguments, format);
	vsnprintf(piece->text, sizeof(piece->text), format, arguments);
	va_end(arguments);
	if (piece->text[0])
		line->n++;
}

void line_shorten(struct line *line, const char *bytes)
{
	struct piece *piece = line->n ? &line->pieces[line->n - 1] : NULL;
	size_t length = piece ? strcspn(piece->text, bytes) : 0;

	if (piece && piece->text[length])
		piece->short_bytes = length;
}

/* Cells of the kept pieces of one side, with " · " between them. */
static int line_width(const struct line *line, bool right)
{
	int width = 0;

	for (size_t i = 0; i < line->n; i++)
		if (line->pieces[i].right == right && line->pieces[i].kept)
			width += canvas_text_width(line->pieces[i].text) + (width ? 3 : 0);
	return width;
}

static void line_fit_piece(struct line *line, struct piece *piece, int room)
{
	piece->kept = true;
	if (!piece->rank || line_width(line, false) + line_width(line, true) + 2 <= room)
		return;
	if (piece->short_bytes) {
		piece->text[piece->short_bytes] = '\0';
		piece->short_bytes = 0;
		line_fit_piece(line, piece, room);
		return;
	}
	piece->kept = false;
}

static void line_fit(struct line *line, int room)
{
	for (int rank = 0; rank <= LINE_MAX_RANK; rank++)
		for (size_t i = 0; i < line->n; i++)
			if (line->pieces[i].rank == rank)
				line_fit_piece(line, &line->pieces[i], room);
}

static void line_put_side(const struct line *line, bool right, struct canvas *canvas, int row,
			  int column)
{
	bool first = true;

	for (size_t i = 0; i < line->n; i++) {
		const struct piece *piece = &line->pieces[i];

		if (piece->right != right || !piece->kept)
			continue;
		if (!first)
			column += canvas_put(canvas, row, column, 3, STYLE_DIM, " · ");
		first = false;
		column += canvas_put(canvas, row, column, canvas_columns(canvas) - column,
				     piece->style, piece->text);
	}
}

void line_draw(struct line *line, struct canvas *canvas, int row)
{
	int room = canvas_columns(canvas) - 2;

	line_fit(line, room);
	line_put_side(line, false, canvas, row, 1);
	line_put_side(line, true, canvas, row, room + 1 - line_width(line, true));
}
