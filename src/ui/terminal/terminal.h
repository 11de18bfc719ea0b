/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal: the only part that knows curses. At most one terminal is open. Main's thread.
 *
 * The terminal is restored however the program ends: by terminal_close(), or by a signal handler
 * after a crash.
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
/* Whether the terminal is on a serial line of 9600 baud (960 bytes a second) or less. */
bool terminal_is_slow(void);
/* Sends the cells that changed. ANEW: sends all cells, after another program's output. */
void terminal_paint(const struct canvas *canvas, bool anew);

/* How a wait ended. */
enum terminal_event {
	TERMINAL_NOTHING, /* time is up */
	TERMINAL_INPUT,   /* terminal_read() returns input */
	TERMINAL_ENDED,   /* SIGINT, SIGTERM, SIGHUP, SIGQUIT, or the terminal was closed */
};
enum terminal_event terminal_wait(uint64_t timeout_ns);
/* Reads the next input. Returns false if there is none now. */
bool terminal_read(struct input *input);

#endif
