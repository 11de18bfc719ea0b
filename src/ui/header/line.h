/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line made of pieces, each with a rank. Where not all pieces have room, those of low rank stay.
 * A piece that does not fit is tried in its short form, if it has one. A piece of rank 0 always
 * stays; the screen's edge cuts it.
 */
#ifndef UI_HEADER_LINE_H
#define UI_HEADER_LINE_H

#include "ui/terminal/canvas.h"

#define LINE_MAX_PIECES 24
#define LINE_MAX_RANK   9

struct piece {
	char text[160];
	enum style style;
	int rank;
	bool right; /* stands at the right edge */
	bool kept;
	size_t short_bytes; /* length of the short form; 0: there is none */
};

/* Begins as { .n = 0 }. */
struct line {
	struct piece pieces[LINE_MAX_PIECES];
	size_t n;
};

/* An empty text adds nothing, nor does a piece for which there is no room in the array. */
void line_add(struct line *line, bool right, int rank, enum style style, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* The short form of the last piece: its text up to the first of BYTES, if the text has one. */
void line_shorten(struct line *line, const char *bytes);
void line_draw(struct line *line, struct canvas *canvas, int row);

#endif
