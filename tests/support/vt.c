/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A terminal of type xterm; see vt.h. Sequences: ECMA-48, and xterm's ctlseqs. */
#include "config.h"

#include "tests/support/vt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMETERS 16

/* --- cells ------------------------------------------------------------------------------------ */

static void vt_clear(struct vt *vt, int row, int from, int until)
{
	for (int column = from; column < until; column++)
		strcpy(vt->cells[row][column], " ");
}

static void vt_clear_rows(struct vt *vt, int from, int until)
{
	for (int row = from; row < until; row++)
		vt_clear(vt, row, 0, vt->columns);
}

void vt_init(struct vt *vt, int rows, int columns)
{
	memset(vt, 0, sizeof(*vt));
	vt->rows = rows;
	vt->columns = columns;
	vt->bottom = rows - 1;
	vt_clear_rows(vt, 0, rows);
}

static int clamp(int value, int least, int most)
{
	return value < least ? least : value > most ? most : value;
}

static void vt_move(struct vt *vt, int row, int column)
{
	vt->row = clamp(row, 0, vt->rows - 1);
	vt->column = clamp(column, 0, vt->columns - 1);
	vt->wraps = false;
}

/* Moves the rows [FROM, UNTIL) up by N rows, or down if N is negative. */
static void vt_shift(struct vt *vt, int from, int until, int n)
{
	int count = until - from - abs(n);

	if (count > 0)
		memmove(vt->cells[n > 0 ? from : from - n], vt->cells[n > 0 ? from + n : from],
			(size_t)count * sizeof(vt->cells[0]));
	count = count < 0 ? 0 : count;
	if (n > 0)
		vt_clear_rows(vt, from + count, until);
	else
		vt_clear_rows(vt, from, until - count);
}

/* Goes down a line. In the region's last line the region scrolls, in the screen's nothing moves. */
static void vt_line_feed(struct vt *vt)
{
	if (vt->row == vt->bottom)
		vt_shift(vt, vt->top, vt->bottom + 1, 1);
	else
		vt_move(vt, vt->row + 1, vt->column);
}

static void vt_reverse_line_feed(struct vt *vt)
{
	if (vt->row == vt->top)
		vt_shift(vt, vt->top, vt->bottom + 1, -1);
	else
		vt_move(vt, vt->row - 1, vt->column);
}

static void vt_put(struct vt *vt, const char *character)
{
	if (vt->wraps) {
		vt->column = 0;
		vt_line_feed(vt);
		vt->wraps = false;
	}
	strcpy(vt->cells[vt->row][vt->column], character);
	strcpy(vt->last, character);
	if (vt->column + 1 < vt->columns)
		vt->column++;
	else
		vt->wraps = true;
}

/* --- sequences -------------------------------------------------------------------------------- */

static void vt_insert_cells(struct vt *vt, int n)
{
	char(*row)[VT_CELL_BYTES] = vt->cells[vt->row];
	int count = vt->columns - vt->column - abs(n);
	int to = vt->column + (n > 0 ? n : 0), from = vt->column + (n > 0 ? 0 : -n);

	if (count > 0)
		memmove(row[to], row[from], (size_t)count * VT_CELL_BYTES);
	count = count < 0 ? 0 : count;
	if (n > 0)
		vt_clear(vt, vt->row, vt->column, vt->columns - count);
	else
		vt_clear(vt, vt->row, vt->column + count, vt->columns);
}

static void vt_erase_display(struct vt *vt, int how)
{
	if (how == 2 || how == 3) {
		vt_clear_rows(vt, 0, vt->rows);
	} else if (how == 1) {
		vt_clear_rows(vt, 0, vt->row);
		vt_clear(vt, vt->row, 0, vt->column + 1);
	} else {
		vt_clear(vt, vt->row, vt->column, vt->columns);
		vt_clear_rows(vt, vt->row + 1, vt->rows);
	}
}

static void vt_erase_line(struct vt *vt, int how)
{
	vt_clear(vt, vt->row, how ? 0 : vt->column, how == 1 ? vt->column + 1 : vt->columns);
}

static void vt_set_region(struct vt *vt, int top, int bottom)
{
	bottom = bottom && bottom <= vt->rows ? bottom : vt->rows;
	if (top >= bottom)
		return;
	vt->top = top - 1;
	vt->bottom = bottom - 1;
	vt_move(vt, 0, 0);
}

/* FIRST, SECOND: parameters, 0 where there is none. Returns false if the sequence is unknown. */
static bool vt_control(struct vt *vt, char final, int first, int second)
{
	int n = first ? first : 1;

	switch (final) {
	case 'A': vt_move(vt, vt->row - n, vt->column); return true;
	case 'B': vt_move(vt, vt->row + n, vt->column); return true;
	case 'C': vt_move(vt, vt->row, vt->column + n); return true;
	case 'D': vt_move(vt, vt->row, vt->column - n); return true;
	case 'G': vt_move(vt, vt->row, n - 1); return true;
	case 'H': vt_move(vt, n - 1, (second ? second : 1) - 1); return true;
	case 'd': vt_move(vt, n - 1, vt->column); return true;
	case 'J': vt_erase_display(vt, first); return true;
	case 'K': vt_erase_line(vt, first); return true;
	case 'L': vt_shift(vt, vt->row, vt->bottom + 1, -n); return true;
	case 'M': vt_shift(vt, vt->row, vt->bottom + 1, n); return true;
	case 'S': vt_shift(vt, vt->top, vt->bottom + 1, n); return true;
	case 'T': vt_shift(vt, vt->top, vt->bottom + 1, -n); return true;
	case '@': vt_insert_cells(vt, n); return true;
	case 'P': vt_insert_cells(vt, -n); return true;
	case 'X':
		vt_clear(vt, vt->row, vt->column, clamp(vt->column + n, 0, vt->columns));
		return true;
	case 'b':
		for (char last[VT_CELL_BYTES]; n--; vt_put(vt, last))
			strcpy(last, vt->last);
		return true;
	case 'r': vt_set_region(vt, n, second); return true;
	case 'm': case 'h': case 'l': case 't': return true; /* looks, modes, window */
	default: return false;
	}
}

static void vt_refuse(struct vt *vt, const char *sequence, size_t n)
{
	if (!vt->unknown[0])
		snprintf(vt->unknown, sizeof(vt->unknown), "%.*s", (int)n, sequence);
}

/* CSI: ESC [, parameters, a final byte. Returns its length. */
static size_t vt_control_sequence(struct vt *vt, const char *bytes, size_t n)
{
	int parameters[MAX_PARAMETERS] = { 0 };
	bool private = n > 2 && strchr("?>=", bytes[2]);
	size_t at = private ? 3 : 2, count = 0;

	for (; at < n && (unsigned char)bytes[at] < 0x40; at++) {
		if (bytes[at] == ';')
			count++;
		else if (count < MAX_PARAMETERS)
			parameters[count] = parameters[count] * 10 + bytes[at] - '0';
	}
	if (at < n && !private && !vt_control(vt, bytes[at], parameters[0], parameters[1]))
		vt_refuse(vt, bytes, at + 1);
	return at + 1;
}

static size_t vt_escape(struct vt *vt, const char *bytes, size_t n)
{
	if (n > 1 && bytes[1] == '[')
		return vt_control_sequence(vt, bytes, n);
	if (n > 2 && strchr("()", bytes[1])) /* character sets: tests run with UTF-8 */
		return 3;
	if (n > 1 && bytes[1] == 'M')
		vt_reverse_line_feed(vt);
	else if (n > 1 && !strchr("78=>", bytes[1]))
		vt_refuse(vt, bytes, 2);
	return 2;
}

static size_t vt_character(struct vt *vt, const char *bytes, size_t n)
{
	unsigned char first = (unsigned char)bytes[0];
	size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	char character[VT_CELL_BYTES] = "";

	if (length > n)
		return n;
	memcpy(character, bytes, length);
	vt_put(vt, character);
	return length;
}

void vt_write(struct vt *vt, const char *bytes, size_t n)
{
	for (size_t at = 0; at < n;) {
		switch (bytes[at]) {
		case '\033':
			at += vt_escape(vt, bytes + at, n - at);
			continue;
		case '\n':
			vt_line_feed(vt);
			break;
		case '\r':
			vt_move(vt, vt->row, 0);
			break;
		case '\b':
			vt_move(vt, vt->row, vt->column - 1);
			break;
		case '\a':
		case '\016':
		case '\017':
			break;
		default:
			at += vt_character(vt, bytes + at, n - at);
			continue;
		}
		at++;
	}
}

void vt_row(const struct vt *vt, int row, char *text, size_t capacity)
{
	size_t length = 0;

	text[0] = '\0';
	for (int column = 0; column < vt->columns; column++)
		length += (size_t)snprintf(text + length, capacity - length, "%s",
					   vt->cells[row][column]);
	while (length && text[length - 1] == ' ')
		text[--length] = '\0';
}
