/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The canvas that views draw on: a grid of cells. A cell has one character, its combining marks and
 * a style. The canvas knows no terminal, so that a test can compare a screen as text.
 *
 * Drawing is clipped: rows and columns outside the canvas are no error. Text is UTF-8.
 */
#ifndef UI_CANVAS_H
#define UI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a cell means. terminal.c decides what each style looks like. */
enum style {
	STYLE_NORMAL,
	STYLE_HOT,      /* a share from 5 % on */
	STYLE_WARM,     /* a share from 0.5 % on */
	STYLE_DIM,      /* a smaller share; text that only guides the eye */
	STYLE_SELECTED, /* the row under the cursor */
	STYLE_MARKED,   /* the selected row of a list that does not have the cursor */
	STYLE_TITLE,    /* the domain's name, the focus */
	STYLE_HEADER,   /* column headers */
	STYLE_SORTED,   /* header of the column that rows are sorted by */
	STYLE_BAR_USER,
	STYLE_BAR_KERNEL,
	STYLE_BAR_STEAL,
	STYLE_KEY,    /* "F1" on the bottom line */
	STYLE_LABEL,  /* "Help" after "F1" */
	STYLE_NOTICE, /* a state the user should know: frozen, filtered, rate lowered */
	STYLE_ALERT,  /* something went wrong, or ended */
	STYLE_GOOD,   /* a figure well within its bounds */
	STYLE_MATCH,  /* a match of the search */
	/* Functions in the flame graph */
	STYLE_FLAME_KERNEL,
	STYLE_FLAME_USER,
	STYLE_FLAME_LIBRARY,
	STYLE_FLAME_UNKNOWN,
	STYLE_FLAME_OTHER, /* the root, processes, marks */
	STYLE_BAR_LOCK,
	/* Functions in the flame graph that grew or shrank against the baseline */
	STYLE_FLAME_MORE,
	STYLE_FLAME_LESS,
};
#define N_STYLES 26

#define CELL_MAX_CHARACTERS 3 /* the character and two combining marks; more marks are dropped */

struct cell {
	uint32_t characters[CELL_MAX_CHARACTERS]; /* 0-filled; all 0: right half of a wide cell */
	uint8_t style;
	uint8_t width; /* 1 or 2; 0: right half of a wide cell */
};

struct canvas;

/* A part of the canvas: ROWS rows from ROW on. It begins at column 0. */
struct area {
	int row, rows, columns;
};

/* What a terminal can show. */
enum charset {
	CHARSET_FULL,
	CHARSET_ASCII,   /* ornaments become similar ASCII characters; others become '?' */
	CHARSET_CONSOLE, /* ornaments become characters of code page 437, as in console fonts */
};

/* Returns NULL if memory is out. */
struct canvas *canvas_create(int rows, int columns, enum charset charset);
void canvas_destroy(struct canvas *canvas); /* NULL allowed */
int canvas_rows(const struct canvas *canvas);
int canvas_columns(const struct canvas *canvas);
const struct cell *canvas_cell(const struct canvas *canvas, int row, int column);

void canvas_clear(struct canvas *canvas);
/* Draws blanks in STYLE. */
void canvas_fill(struct canvas *canvas, int row, int column, int width, enum style style);
/* Changes the style and keeps the characters. */
void canvas_restyle(struct canvas *canvas, int row, int column, int width, enum style style);
/* Puts at most WIDTH cells of TEXT, cut at the end. Returns the number of cells. */
int canvas_put(struct canvas *canvas, int row, int column, int width, enum style style,
	       const char *text);
/* As canvas_put(), aligned right in WIDTH cells. */
void canvas_put_right(struct canvas *canvas, int row, int column, int width, enum style style,
		      const char *text);
/* As canvas_put(), but a text that is too long is cut in the middle: names differ at both ends. */
int canvas_put_name(struct canvas *canvas, int row, int column, int width, enum style style,
		    const char *text);
/* As canvas_put() up to the right edge, with a formatted text of at most 1 KiB. */
int canvas_printf(struct canvas *canvas, int row, int column, enum style style, const char *format,
		  ...) __attribute__((format(printf, 5, 6)));

/* The number of cells that TEXT takes on a canvas. */
int canvas_text_width(const char *text);

#endif
