/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that change which picture is shown, what part of it, and how. Main's thread. */
#ifndef UI_REQUEST_DISPLAY_H
#define UI_REQUEST_DISPLAY_H

#include "ui/state.h"

/* Carries out REQUEST. Returns false if it is none of these. */
bool request_change_display(struct ui *ui, const struct request *request);
/* A click on MOMENT in the header: the first click begins a range, the next click ends it. */
void request_click_history(struct ui *ui, size_t moment);

#endif
