/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals that end a run without a screen. Main's thread. */
#ifndef XTOP_INTERRUPT_H
#define XTOP_INTERRUPT_H

#include <stdbool.h>

/*
 * The first SIGINT, SIGTERM or SIGHUP ends the run in order. A second one ends the process at once,
 * as if it were not caught. A reader that went away (`xtop -b | head`) shows as a failed write, and
 * -o and --stats still get their files.
 */
void interrupt_catch(void);
bool interrupt_came(void);

#endif
