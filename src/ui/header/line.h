/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line of ranked texts. If a line is too narrow for all texts, texts of low rank are shown first.
 * A text that does not fit may have a short form, which is tried next. Texts of rank 0 are always
 * shown; the screen's edge cuts them.
 */
#ifndef UI_HEADER_LINE_H
#define UI_HEADER_LINE_H

#include "ui/terminal/canvas.h"

#define LINE_MAX_TEXTS 24
#define LINE_MAX_RANK  9

struct line_text {
	char text[160];
	enum style style;
	int rank;
	bool right;         /* the text stands at the line's right edge */
	bool is_shown;      /* there is room for the text */
	size_t short_bytes; /* length of the short form; 0 if there is none */
};

/* Begins as { .n = 0 }. */
struct line {
	struct line_text texts[LINE_MAX_TEXTS];
	size_t n;
};

/* Adds a text. An empty text, and one beyond LINE_MAX_TEXTS, are left out. */
void line_add(struct line *line, bool right, int rank, enum style style, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* Gives the last text a short form: the text up to the first of BYTES, if it has one of them. */
void line_shorten(struct line *line, const char *bytes);
void line_draw(struct line *line, struct canvas *canvas, int row);

#endif
