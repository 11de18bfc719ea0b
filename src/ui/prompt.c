/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line editor. The text is UTF-8. The cursor is between characters. */
#include "config.h"

#include "ui/prompt.h"

#include <stdio.h>
#include <string.h>

#include "xtop/base/utf8.h"

void prompt_start(struct prompt *prompt, const char *label, const char *text)
{
	memset(prompt, 0, sizeof(*prompt));
	snprintf(prompt->label, sizeof(prompt->label), "%s", label);
	snprintf(prompt->text, sizeof(prompt->text), "%s", text);
	prompt->length = prompt->cursor = strlen(prompt->text);
}

static bool byte_continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t prompt_before(const struct prompt *prompt)
{
	size_t at = prompt->cursor;

	while (at && byte_continues(prompt->text[--at]))
		;
	return at;
}

static size_t prompt_after(const struct prompt *prompt)
{
	size_t at = prompt->cursor;

	if (at < prompt->length)
		at++;
	while (at < prompt->length && byte_continues(prompt->text[at]))
		at++;
	return at;
}

static enum prompt_result prompt_remove(struct prompt *prompt, size_t from, size_t to)
{
	if (from == to)
		return PROMPT_GOES_ON;
	memmove(prompt->text + from, prompt->text + to, prompt->length - to + 1);
	prompt->length -= to - from;
	prompt->cursor = from;
	return PROMPT_CHANGED;
}

static enum prompt_result prompt_insert(struct prompt *prompt, uint32_t character)
{
	char bytes[4];
	size_t n;

	if (character < 0x20 || character == 0x7f || character >= INPUT_FIRST_SPECIAL)
		return PROMPT_GOES_ON;
	n = utf8_encode(character, bytes);
	if (prompt->length + n >= sizeof(prompt->text))
		return PROMPT_GOES_ON;
	memmove(prompt->text + prompt->cursor + n, prompt->text + prompt->cursor,
		prompt->length - prompt->cursor + 1);
	memcpy(prompt->text + prompt->cursor, bytes, n);
	prompt->length += n;
	prompt->cursor += n;
	return PROMPT_CHANGED;
}

enum prompt_result prompt_handle(struct prompt *prompt, uint32_t code)
{
	switch (code) {
	case INPUT_ENTER:
	case '\n':
		return PROMPT_DONE;
	case INPUT_ESCAPE:
		return PROMPT_CANCELLED;
	case INPUT_LEFT:
		prompt->cursor = prompt_before(prompt);
		return PROMPT_GOES_ON;
	case INPUT_RIGHT:
		prompt->cursor = prompt_after(prompt);
		return PROMPT_GOES_ON;
	case INPUT_HOME:
		prompt->cursor = 0;
		return PROMPT_GOES_ON;
	case INPUT_END:
		prompt->cursor = prompt->length;
		return PROMPT_GOES_ON;
	case INPUT_BACKSPACE:
	case '\b':
		return prompt_remove(prompt, prompt_before(prompt), prompt->cursor);
	case INPUT_DELETE:
		return prompt_remove(prompt, prompt->cursor, prompt_after(prompt));
	case INPUT_CTRL_U:
		return prompt_remove(prompt, 0, prompt->length);
	default:
		return prompt_insert(prompt, code);
	}
}

/* The width of the first N bytes of the text, in cells. */
static int prompt_width(const struct prompt *prompt, size_t n)
{
	char head[PROMPT_MAX_BYTES];

	memcpy(head, prompt->text, n);
	head[n] = '\0';
	return canvas_text_width(head);
}

void prompt_draw(const struct prompt *prompt, struct canvas *canvas, int row)
{
	int columns = canvas_columns(canvas), column, cursor = prompt_width(prompt, prompt->cursor),
	    room;
	const char *text = prompt->text;

	canvas_fill(canvas, row, 0, columns, STYLE_NORMAL);
	column = canvas_put(canvas, row, 0, columns / 2, STYLE_TITLE, prompt->label) + 1;
	room = columns - column - 1;
	while (cursor >= room && room > 1 && *text) { /* scroll until the cursor is visible */
		do
			text++;
		while (byte_continues(*text));
		cursor = prompt_width(prompt, prompt->cursor) -
			 prompt_width(prompt, (size_t)(text - prompt->text));
	}
	room = column + canvas_put(canvas, row, column, room, STYLE_NORMAL, text);
	canvas_restyle(canvas, row, column + cursor, 1, STYLE_SELECTED);
	if (prompt->error[0])
		canvas_put(canvas, row, room + 2, columns - room - 2, STYLE_ALERT, prompt->error);
}
