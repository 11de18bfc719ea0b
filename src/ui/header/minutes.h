/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header's line of the last ten minutes: how busy the guest was, how much time it lost to other
 * guests, how long it was stopped. The line helps to find a range worth marking, and shows the
 * marks.
 */
#ifndef UI_HEADER_MINUTES_H
#define UI_HEADER_MINUTES_H

#include "ui/model.h"
#include "ui/terminal/canvas.h"

/* Returns false, with ROW untouched, before the first picture and if pictures have no time. */
bool minutes_draw(const struct ui_model *model, struct canvas *canvas, int row);
/* The moment of the history that is drawn at COLUMN; history_count() if none is. */
size_t minutes_moment_at(const struct ui_model *model, int column);

#endif
