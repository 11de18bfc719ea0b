/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carrying out requests (request.h). */
#ifndef UI_REQUESTS_H
#define UI_REQUESTS_H

#include "ui/state.h"

/* Gives REQUEST to the view on top and carries out what the view leaves to do. */
void ui_request(struct ui *ui, struct request request);
/* A click on MOMENT in the header's line: the first click begins a range, the next one ends it. */
void request_click_history(struct ui *ui, size_t moment);
/* Carries out what a view has left to do. */
void ui_carry_out(struct ui *ui, struct request request);

#endif
