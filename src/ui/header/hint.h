/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines above the bottom line: what is missing from the picture, and why samples are few; and
 * what would help.
 */
#ifndef UI_HEADER_HINT_H
#define UI_HEADER_HINT_H

#include "ui/model.h"
#include "ui/terminal/canvas.h"

/* Computed once per picture. Begins zeroed, and is zeroed again when another guest is shown. */
struct hint {
	char text[200];    /* "": nothing */
	char budget[200];  /* the same */
	uint64_t sequence; /* of the picture it is for; 0: none yet */
};

/* Draws in ROW, and above it if there is more to say; returns the rows used: 0 to 2. */
int hint_draw(struct hint *hint, const struct ui_model *model, struct canvas *canvas, int row);

#endif
