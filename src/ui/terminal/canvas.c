/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A grid of cells. The UI's thread.
 *
 * Names are cleaned where they enter the profile (frames.h). This file is the last line of defence:
 * control characters, direction overrides and invalid bytes never get into a cell. So a view cannot
 * send them to the terminal, wherever its text comes from.
 */
#include "config.h"

#include "ui/terminal/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "xtop/base/text.h"
#include "xtop/base/utf8.h"

#define REPLACEMENT '?'

struct canvas {
	int rows, columns;
	enum charset charset;
	struct cell *cells;
};

/* --- characters ------------------------------------------------------------------------------- */

/* Takes one character off *TEXT, which must not be empty. A byte that is not UTF-8 becomes '?'. */
static uint32_t character_next(const char **text)
{
	uint32_t character = REPLACEMENT;
	size_t length = utf8_decode(*text, strnlen(*text, 4), &character);

	*text += length ? length : 1;
	return character;
}

/* The width of C in cells. 0: a combining mark. -1: a character that must not be shown. */
static int character_width(uint32_t c)
{
	if (c >= 0x20 && c < 0x7f)
		return 1;
	return text_is_invisible(c) ? -1 : wcwidth((wchar_t)c);
}

/* For terminals that lack our ornaments. CONSOLE is 0 if console fonts have the character. */
static const struct likeness {
	uint32_t character, console;
	char ascii;
} likenesses[] = {
	{ 0xb1, 0, '~' },        { 0xb5, 0, 'u' },        { 0xb7, 0, '-' },
	{ 0x2013, '-', '-' },    { 0x2026, '~', '~' },    { 0x203a, '>', '>' },
	{ 0x2190, 0, '<' },      { 0x2191, 0, '^' },      { 0x2192, 0, '>' },
	{ 0x2193, 0, 'v' },      { 0x2212, '-', '-' },    { 0x2500, 0, '-' },
	{ 0x2502, 0, '|' },      { 0x2514, 0, '`' },      { 0x251c, 0, '|' },
	{ 0x2581, '_', '_' },    { 0x2582, '_', '_' },    { 0x2583, '_', '.' },
	{ 0x2584, 0, 'o' },      { 0x2585, 0x2584, 'o' }, { 0x2586, 0x2584, 'O' },
	{ 0x2587, 0x2588, 'O' }, { 0x2588, 0, '#' },      { 0x258c, 0, '>' },
	{ 0x258f, 0x2502, '|' }, { 0x2591, 0, '.' },      { 0x2593, 0, '*' },
	{ 0x2595, 0x2502, '|' }, { 0x25be, 0x25bc, '*' }, { 0x28c0, 0x2591, ':' },
	{ 0x28e4, 0x2591, ':' }, { 0x28f6, 0x2591, ':' }, { 0x28ff, 0x2591, ':' },
};

static uint32_t character_in(enum charset charset, uint32_t c)
{
	const struct likeness *like = NULL;

	if ((c >= 0x20 && c < 0x7f) || charset == CHARSET_FULL)
		return c;
	for (size_t i = 0; i < sizeof(likenesses) / sizeof(likenesses[0]) && !like; i++)
		if (likenesses[i].character == c)
			like = &likenesses[i];
	if (charset == CHARSET_CONSOLE)
		return like && like->console ? like->console : c;
	return like ? (unsigned char)like->ascii : REPLACEMENT;
}

int canvas_text_width(const char *text)
{
	int width = 0;

	while (*text) {
		int cells = character_width(character_next(&text));

		width += cells < 0 ? 1 : cells;
	}
	return width;
}

/* --- cells ------------------------------------------------------------------------------------ */

struct canvas *canvas_create(int rows, int columns, enum charset charset)
{
	struct canvas *canvas = calloc(1, sizeof(*canvas));

	if (!canvas)
		return NULL;
	canvas->rows = rows > 0 ? rows : 1;
	canvas->columns = columns > 0 ? columns : 1;
	canvas->charset = charset;
	canvas->cells =
		calloc((size_t)canvas->rows * (size_t)canvas->columns, sizeof(*canvas->cells));
	if (!canvas->cells) {
		free(canvas);
		return NULL;
	}
	canvas_clear(canvas);
	return canvas;
}

void canvas_destroy(struct canvas *canvas)
{
	if (!canvas)
		return;
	free(canvas->cells);
	free(canvas);
}

int canvas_rows(const struct canvas *canvas)
{
	return canvas->rows;
}

int canvas_columns(const struct canvas *canvas)
{
	return canvas->columns;
}

/* Returns NULL outside the canvas. */
static struct cell *canvas_at(const struct canvas *canvas, int row, int column)
{
	if (row < 0 || row >= canvas->rows || column < 0 || column >= canvas->columns)
		return NULL;
	return &canvas->cells[(size_t)row * (size_t)canvas->columns + (size_t)column];
}

const struct cell *canvas_cell(const struct canvas *canvas, int row, int column)
{
	return canvas_at(canvas, row, column);
}

static void cell_set(struct cell *cell, uint32_t character, int width, enum style style)
{
	*cell = (struct cell){ .characters = { character },
			       .style = style,
			       .width = (uint8_t)width };
}

/* A cell of a wide character is about to be overwritten: both halves become blanks. */
static void canvas_split_wide(struct canvas *canvas, int row, int column)
{
	struct cell *cell = canvas_at(canvas, row, column);
	struct cell *other;

	if (!cell || cell->width == 1)
		return;
	other = canvas_at(canvas, row, cell->width ? column + 1 : column - 1);
	if (other)
		cell_set(other, ' ', 1, other->style);
	cell_set(cell, ' ', 1, cell->style);
}

/* Puts one character. Returns its width; 0 if it does not fit into ROOM cells. */
static int canvas_put_character(struct canvas *canvas, int row, int column, int room,
				enum style style, uint32_t character)
{
	int width;

	character = character_in(canvas->charset, character);
	width = character_width(character);
	if (width < 0) {
		character = REPLACEMENT;
		width = 1;
	}
	if (width > room || width > canvas->columns - column)
		return 0;
	if (column >= 0) {
		for (int i = 0; i < width; i++) {
			canvas_split_wide(canvas, row, column + i);
			cell_set(canvas_at(canvas, row, column + i), i ? 0 : character,
				 i ? 0 : width, style);
		}
	}
	return width;
}

static void cell_combine(struct cell *cell, uint32_t mark)
{
	for (int i = 1; cell && cell->width && i < CELL_MAX_CHARACTERS; i++) {
		if (!cell->characters[i]) {
			cell->characters[i] = mark;
			return;
		}
	}
}

int canvas_put(struct canvas *canvas, int row, int column, int width, enum style style,
	       const char *text)
{
	int used = 0, last = -1;

	if (row < 0 || row >= canvas->rows)
		return 0;
	while (*text) {
		uint32_t character = character_next(&text);
		int cells;

		if (canvas->charset != CHARSET_ASCII && character_width(character) == 0) {
			if (last >= 0)
				cell_combine(canvas_at(canvas, row, last), character);
			continue;
		}
		cells = canvas_put_character(canvas, row, column + used, width - used, style,
					     character);
		if (!cells)
			break;
		last = column + used;
		used += cells;
	}
	return used;
}

void canvas_put_right(struct canvas *canvas, int row, int column, int width, enum style style,
		      const char *text)
{
	int needed = canvas_text_width(text);
	int blank = needed < width ? width - needed : 0;

	canvas_put(canvas, row, column + blank, width - blank, style, text);
}

/* The longest tail of TEXT that is at most WIDTH cells wide. */
static const char *text_tail(const char *text, int width)
{
	int excess = canvas_text_width(text) - width;

	while (*text && excess > 0) {
		int cells = character_width(character_next(&text));

		excess -= cells < 0 ? 1 : cells;
	}
	/* marks at the beginning belong to a character that was cut off */
	for (const char *next = text; *next; text = next)
		if (character_width(character_next(&next)) != 0)
			break;
	return text;
}

int canvas_put_name(struct canvas *canvas, int row, int column, int width, enum style style,
		    const char *text)
{
	int head = width / 2, used;

	if (canvas_text_width(text) <= width)
		return canvas_put(canvas, row, column, width, style, text);
	if (width < 8) /* no room for two ends */
		head = width - 1;
	used = canvas_put(canvas, row, column, head, style, text);
	used += canvas_put(canvas, row, column + used, width - used, style, "…");
	return used + canvas_put(canvas, row, column + used, width - used, style,
				 text_tail(text, width - used));
}

int canvas_printf(struct canvas *canvas, int row, int column, enum style style, const char *format,
		  ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return canvas_put(canvas, row, column, canvas->columns - column, style, text);
}

void canvas_fill(struct canvas *canvas, int row, int column, int width, enum style style)
{
	for (int i = 0; i < width && column + i < canvas->columns; i++)
		canvas_put_character(canvas, row, column + i, 1, style, ' ');
}

void canvas_restyle(struct canvas *canvas, int row, int column, int width, enum style style)
{
	for (int i = 0; i < width; i++) {
		struct cell *cell = canvas_at(canvas, row, column + i);

		if (cell)
			cell->style = style;
	}
}

void canvas_clear(struct canvas *canvas)
{
	size_t n = (size_t)canvas->rows * (size_t)canvas->columns;

	for (size_t i = 0; i < n; i++)
		cell_set(&canvas->cells[i], ' ', 1, STYLE_NORMAL);
}
