/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that lead to other views and guests, and back. Main's thread. */
#ifndef UI_REQUEST_NAVIGATION_H
#define UI_REQUEST_NAVIGATION_H

#include "ui/state.h"

/* False: REQUEST is none of these. */
bool request_go(struct ui *ui, const struct request *request);

#endif
