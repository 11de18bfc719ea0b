/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The line above the bottom line: what is missing from the picture, or why samples are few, and
 * what would help.
 */
#ifndef UI_HEADER_HINT_H
#define UI_HEADER_HINT_H

#include "ui/model.h"
#include "ui/terminal/canvas.h"

/* Computed once per picture. Zeroed at first, and when another guest is shown. */
struct hint {
	char text[200];    /* what is missing from the picture; "" if nothing is */
	char budget[200];  /* why samples are few; "" if they are not */
	uint64_t sequence; /* number of the picture described; 0 before the first one */
};

/* Draws one hint in ROW, if there is one. Returns the number of lines. */
int hint_draw(struct hint *hint, const struct ui_model *model, struct canvas *canvas, int row);

#endif
