/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal: the only part that knows curses. One at a time, on main's thread.
 *
 * However the program ends, the terminal is given back as it was found: at terminal_close(), and
 * also when a signal handler of ours runs because the program crashed.
 */
#ifndef UI_TERMINAL_H
#define UI_TERMINAL_H

#include "ui/terminal/canvas.h"
#include "ui/terminal/input.h"
#include "xtop/error.h"
#include "xtop/ui.h"

struct xtop_error *terminal_open(enum ui_colors colors);
void terminal_close(void);

void terminal_size(int *rows, int *columns);
enum charset terminal_charset(void);
/* A serial line of 9600 baud or less: it takes 960 bytes a second, keys and pictures together. */
bool terminal_is_slow(void);
/*
 * Only cells that changed are sent. ANEW: all of them, for a screen that something else wrote on.
 */
void terminal_paint(const struct canvas *canvas, bool anew);

/* How a wait ended. */
enum terminal_event {
	TERMINAL_NOTHING, /* time is up */
	TERMINAL_INPUT,   /* terminal_read() has some */
	TERMINAL_ENDED,   /* SIGINT, SIGTERM, SIGHUP, SIGQUIT, or the terminal is closed */
};
enum terminal_event terminal_wait(uint64_t timeout_ns);
/* The next input, false when there is none for now. */
bool terminal_read(struct input *input);

#endif
