/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header's line of the last ten minutes: how busy the guest was, what it lost to others, how
 * long it was stopped. It shows where a range of time is worth marking, and what is marked.
 */
#ifndef UI_HEADER_MINUTES_H
#define UI_HEADER_MINUTES_H

#include "ui/model.h"
#include "ui/terminal/canvas.h"

/* False: there is no picture yet, or no time in it. ROW is left as it is. */
bool minutes_draw(const struct ui_model *model, struct canvas *canvas, int row);
/* Which moment of the history is drawn at COLUMN of that line; history_count(): none. */
size_t minutes_moment_at(const struct ui_model *model, int column);

#endif
