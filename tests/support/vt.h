/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A terminal of type xterm, for tests of what arrives there. It has a fixed size, like the one at
 * the other end of a serial line, and does what the bytes say: also when they were sent by a program
 * that believes in another size. Characters alone; no attributes.
 */
#ifndef TESTS_VT_H
#define TESTS_VT_H

#include <stdbool.h>
#include <stddef.h>

#define VT_MAX_ROWS    60
#define VT_MAX_COLUMNS 200
#define VT_CELL_BYTES  8 /* a character in UTF-8 and its NUL */

struct vt {
	int rows, columns;
	int row, column;
	bool wraps;      /* the last cell of the row is written: the next character wraps first */
	int top, bottom; /* rows that scroll */
	char cells[VT_MAX_ROWS][VT_MAX_COLUMNS][VT_CELL_BYTES];
	char last[VT_CELL_BYTES]; /* the cell that REP repeats */
	char unknown[16]; /* the first sequence that it does not know; "": none */
};

void vt_init(struct vt *vt, int rows, int columns);
/* Ends with a whole character or sequence. */
void vt_write(struct vt *vt, const char *bytes, size_t n);
/* A row as text, without the blanks at its end. */
void vt_row(const struct vt *vt, int row, char *text, size_t capacity);

#endif
