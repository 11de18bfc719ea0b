/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carrying out requests (request.h). */
#ifndef UI_REQUESTS_H
#define UI_REQUESTS_H

#include "ui/state.h"

/* Passes REQUEST to the view on top, and carries out what the view leaves to do. */
void ui_request(struct ui *ui, struct request request);
/* Carries out REQUEST, which a view has returned. */
void ui_carry_out(struct ui *ui, struct request request);

#endif
