/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of the profiles that --push has handed to the sender (push.h). Main's thread. */
#ifndef XTOP_DELIVERY_H
#define XTOP_DELIVERY_H

#include "xtop/push/push.h"

#define DELIVERY_LINE_BYTES 512

struct delivery {
	struct push_status status; /* the sender's status that was reported last */
	uint64_t reported_ns;      /* time of the report of that status; 0: never */
};

/*
 * Asks the sender. Writes a LINE of DELIVERY_LINE_BYTES, not clean, when sending begins to fail,
 * when profiles are lost, and when sending works again: a line a minute at most, and a line at the
 * end (LAST). Once a line says that a password is sent without encryption. False: no line.
 */
bool delivery_update(struct delivery *delivery, struct push *push, bool last, char *line);

#endif
