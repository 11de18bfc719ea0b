/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sheet every view draws on: a grid of cells, each one character with its combining marks and
 * a style. Nothing here knows a terminal, so that a screen can be tested as text.
 *
 * Drawing is clipped: rows and columns outside the sheet are no error. Text is UTF-8.
 */
#ifndef UI_CANVAS_H
#define UI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a cell means; terminal.c decides what that looks like. */
enum style {
	STYLE_NORMAL,
	STYLE_HOT,      /* over 5 % */
	STYLE_WARM,     /* over 0.5 % */
	STYLE_DIM,      /* less, and what is only there for orientation */
	STYLE_SELECTED, /* the row under the cursor */
	STYLE_MARKED,   /* the row a list without the focus remembers */
	STYLE_TITLE,    /* the domain's name, the focus */
	STYLE_HEADER,   /* column headers */
	STYLE_SORTED,   /* header of the column sorted by */
	STYLE_BAR_USER,
	STYLE_BAR_KERNEL,
	STYLE_BAR_STEAL,
	STYLE_KEY,    /* "F1" of the bottom line */
	STYLE_LABEL,  /* "Help" behind it */
	STYLE_NOTICE, /* a state to know of: frozen, filtered, rate lowered */
	STYLE_ALERT,  /* something went wrong, or ended */
	STYLE_GOOD,   /* well within its bounds */
	STYLE_MATCH,  /* what is searched for */
	/* functions in the flame graph */
	STYLE_FLAME_KERNEL,
	STYLE_FLAME_USER,
	STYLE_FLAME_LIBRARY,
	STYLE_FLAME_UNKNOWN,
	STYLE_FLAME_OTHER, /* the whole, processes, marks */
};
#define N_STYLES 23

#define CELL_MAX_CHARACTERS 3 /* the character and two combining marks; more are dropped */

struct cell {
	uint32_t characters[CELL_MAX_CHARACTERS]; /* 0-filled; all 0: right half of a wide one */
	uint8_t style;
	uint8_t width; /* 1 or 2; 0: right half */
};

struct canvas;

/* A part of the sheet: whole rows, or COLUMNS of them from where the caller says. */
struct area {
	int row, rows, columns;
};

/* What a terminal can show. */
enum charset {
	CHARSET_FULL,
	CHARSET_ASCII,   /* ornaments become their ASCII likeness, other characters '?' */
	CHARSET_CONSOLE, /* ornaments become those of code page 437, which console fonts have */
};

/* NULL: out of memory. */
struct canvas *canvas_create(int rows, int columns, enum charset charset);
void canvas_destroy(struct canvas *canvas); /* NULL allowed */
int canvas_rows(const struct canvas *canvas);
int canvas_columns(const struct canvas *canvas);
const struct cell *canvas_cell(const struct canvas *canvas, int row, int column);

void canvas_clear(struct canvas *canvas);
/* Blanks, to set the style of a whole stretch. */
void canvas_fill(struct canvas *canvas, int row, int column, int width, enum style style);
/* Other style for what is drawn already. */
void canvas_restyle(struct canvas *canvas, int row, int column, int width, enum style style);
/* At most WIDTH cells of TEXT, cut at the end; returns the cells used. */
int canvas_put(struct canvas *canvas, int row, int column, int width, enum style style,
	       const char *text);
/* As canvas_put(), aligned right in WIDTH cells. */
void canvas_put_right(struct canvas *canvas, int row, int column, int width, enum style style,
		      const char *text);
/* As canvas_put(), but too long a text is cut in the middle: names differ at both ends. */
int canvas_put_name(struct canvas *canvas, int row, int column, int width, enum style style,
		    const char *text);
/* As canvas_put() up to the right edge, formatted, at most 1 KiB. */
int canvas_printf(struct canvas *canvas, int row, int column, enum style style, const char *format,
		  ...) __attribute__((format(printf, 5, 6)));

/* Cells TEXT takes on a canvas. */
int canvas_text_width(const char *text);

/* The sheet as text, a line a row, blanks at line ends dropped; malloc()ed, NULL: out of memory. */
char *canvas_dump(const struct canvas *canvas);
/* The same with a letter for each cell's style: '.' normal, then 'a' + style. */
char *canvas_dump_styles(const struct canvas *canvas);

#endif
