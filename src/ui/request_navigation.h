/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that lead to other views and guests, and back. Main's thread. */
#ifndef UI_REQUEST_NAVIGATION_H
#define UI_REQUEST_NAVIGATION_H

#include "ui/state.h"

/* Carries out REQUEST. Returns false if it is none of these. */
bool request_navigate(struct ui *ui, const struct request *request);

#endif
