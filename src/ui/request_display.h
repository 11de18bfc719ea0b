/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that change which picture is shown, what part of it, and how. Main's thread. */
#ifndef UI_REQUEST_DISPLAY_H
#define UI_REQUEST_DISPLAY_H

#include "ui/state.h"

/* False: REQUEST is none of these. */
bool request_look(struct ui *ui, const struct request *request);
/* A click on MOMENT in the header's line: the first click begins a range, the next one ends it. */
void request_click_history(struct ui *ui, size_t moment);

#endif
