/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal: the only part that knows curses. There is one at a time, on main's thread.
 *
 * However the program ends, the terminal is restored: by terminal_close(), or by a signal handler
 * when the program crashes.
 */
#ifndef UI_TERMINAL_H
#define UI_TERMINAL_H

#include "ui/terminal/canvas.h"
#include "ui/terminal/input.h"
#include "xtop/base/error.h"
#include "xtop/ui/ui.h"

struct xtop_error *terminal_open(enum ui_colors colors);
void terminal_close(void);

void terminal_size(int *rows, int *columns);
enum charset terminal_charset(void);
/* A serial line of 9600 baud or less. 9600 baud are 960 bytes a second, for keys and pictures. */
bool terminal_is_slow(void);
/* Sends the cells that changed. ANEW: all cells, because something else wrote on the screen. */
void terminal_paint(const struct canvas *canvas, bool anew);

/* How a wait ended. */
enum terminal_event {
	TERMINAL_NOTHING, /* time is up */
	TERMINAL_INPUT,   /* terminal_read() has some */
	TERMINAL_ENDED,   /* SIGINT, SIGTERM, SIGHUP, SIGQUIT, or the terminal was closed */
};
enum terminal_event terminal_wait(uint64_t timeout_ns);
/* The next input. False: there is none for now. */
bool terminal_read(struct input *input);

#endif
