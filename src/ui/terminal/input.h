/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user can enter: characters, special keys and the mouse. */
#ifndef UI_TERMINAL_INPUT_H
#define UI_TERMINAL_INPUT_H

#include <stdint.h>

/* A code is a Unicode character or one of these. */
enum input_code {
	INPUT_NONE = 0,
	INPUT_CTRL_C = 3,
	INPUT_TAB = 9,
	INPUT_CTRL_L = 12,
	INPUT_ENTER = 13,
	INPUT_CTRL_U = 21,
	INPUT_ESCAPE = 27,
	INPUT_BACKSPACE = 127,
	INPUT_FIRST_SPECIAL = 0x110000, /* one above the last Unicode character */
	INPUT_UP = INPUT_FIRST_SPECIAL,
	INPUT_DOWN,
	INPUT_LEFT,
	INPUT_RIGHT,
	INPUT_PAGE_UP,
	INPUT_PAGE_DOWN,
	INPUT_HOME,
	INPUT_END,
	INPUT_DELETE,
	INPUT_CLICK, /* the mouse's button was pressed at row, column */
	INPUT_WHEEL_UP,
	INPUT_WHEEL_DOWN,
	INPUT_RESIZE,
	INPUT_F1 = INPUT_FIRST_SPECIAL + 0x100, /* F1 to F12 follow each other: INPUT_F(n) */
};
#define INPUT_F(n) ((uint32_t)INPUT_F1 + (n) - 1)

struct input {
	uint32_t code;   /* a character or enum input_code */
	int row, column; /* INPUT_CLICK only */
};

#endif
