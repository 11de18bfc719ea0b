/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines above every view: the guest, what sampling costs the guest, what is missing from the
 * picture, the picture's age, and the last ten minutes. There are two to four lines. A narrow
 * screen shows fewer words.
 */
#ifndef UI_HEADER_HEADER_H
#define UI_HEADER_HEADER_H

#include "ui/model.h"
#include "ui/terminal/canvas.h"

/*
 * Draws from row 0 on. Returns how many rows are used, and sets model->screen.history_row. The
 * model must have a guest.
 */
int header_draw(struct ui_model *model, struct canvas *canvas);

#endif
