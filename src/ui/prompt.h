/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of text that the user edits on the bottom line of the screen. */
#ifndef UI_PROMPT_H
#define UI_PROMPT_H

#include "ui/terminal/canvas.h"
#include "ui/terminal/input.h"

#define PROMPT_MAX_BYTES 1024

struct prompt {
	char label[64];
	char text[PROMPT_MAX_BYTES];
	size_t length, cursor; /* numbers of bytes; the cursor is before text[cursor] */
	char error[160];       /* shown after the text; "" if there is none */
};

enum prompt_result { PROMPT_GOES_ON, PROMPT_CHANGED, PROMPT_DONE, PROMPT_CANCELLED };

void prompt_start(struct prompt *prompt, const char *label, const char *text);
enum prompt_result prompt_handle(struct prompt *prompt, uint32_t code);
void prompt_draw(const struct prompt *prompt, struct canvas *canvas, int row);

#endif
