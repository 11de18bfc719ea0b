/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may be broken off before it is finished. A hostile guest can have tables that take
 * seconds to read and to sort, and the user who quits must not wait for them. So the readers of
 * guest memory, and each loop that may run for more than some 50 ms, call work_is_over() now and
 * then. A loop that is broken off leaves an incomplete result: xtop shows the result, but keeps it
 * in no cache.
 *
 * A guest's pipeline has one struct work. The guest's memory, images and the sources of tables
 * point to it. The resolver's thread sets its end and asks.
 */
#ifndef XTOP_WORK_H
#define XTOP_WORK_H

#include <stdbool.h>

struct work {
	bool (*ends)(void *context); /* whether the work must end now; NULL: never */
	void *context;
	bool over; /* ends() has returned true */
};

/* Sets the function that ends WORK. WORK may be NULL; then nothing is set. */
void work_set_end(struct work *work, bool (*ends)(void *context), void *context);
/* Whether WORK must end now. Once true, the answer stays true. False if WORK is NULL. */
bool work_is_over(struct work *work);

#endif
