/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to ui/terminal: descriptions of terminals inside the program of `make static`, for
 * systems whose database lacks the terminal in use. The program that is linked with libraries has
 * none.
 */
#ifndef TERMINAL_TYPES_H
#define TERMINAL_TYPES_H

struct terminal_type {
	const char *name;
	const char *description; /* what infocmp -Q2 prints and the variable TERMINFO takes */
};

/* The descriptions; the last one has the name NULL. */
extern const struct terminal_type terminal_types[];

#endif
