/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A canvas as text, for tests that compare or search what is drawn. */
#ifndef TESTS_CANVAS_TEXT_H
#define TESTS_CANVAS_TEXT_H

#include <stdio.h>

#include "ui/terminal/canvas.h"
#include "xtop/base/utf8.h"

static inline void character_write(uint32_t character, FILE *file)
{
	char bytes[4];

	fwrite(bytes, 1, utf8_encode(character, bytes), file);
}

static inline void cell_write_text(const struct cell *cell, FILE *file)
{
	for (int i = 0; i < CELL_MAX_CHARACTERS && cell->characters[i]; i++)
		character_write(cell->characters[i], file);
}

static inline void cell_write_style(const struct cell *cell, FILE *file)
{
	fputc(cell->style == STYLE_NORMAL ? '.' : 'a' + cell->style, file);
}

static inline bool cell_is_blank(const struct cell *cell)
{
	return cell->characters[0] == ' ' && !cell->characters[1];
}

static inline char *canvas_dump_with(const struct canvas *canvas, bool trim,
				     void (*write)(const struct cell *cell, FILE *file))
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	for (int row = 0; row < canvas_rows(canvas); row++) {
		int end = canvas_columns(canvas);

		while (trim && end > 0 && cell_is_blank(canvas_cell(canvas, row, end - 1)))
			end--;
		for (int column = 0; column < end; column++)
			write(canvas_cell(canvas, row, column), file);
		fputc('\n', file);
	}
	fclose(file);
	return text;
}

/*
 * The canvas as text: one line for each row, without blanks at line ends. The text is malloc()ed;
 * NULL if memory is out.
 */
static inline char *canvas_dump(const struct canvas *canvas)
{
	return canvas_dump_with(canvas, true, cell_write_text);
}

/* The styles as text: '.' for a cell in the normal style, 'a' + style for another one. */
static inline char *canvas_dump_styles(const struct canvas *canvas)
{
	return canvas_dump_with(canvas, false, cell_write_style);
}

#endif
