/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may be broken off before it is finished. A hostile guest can have tables that take
 * seconds to read and to sort, and the user who quits must not wait for them. So whoever reads
 * guest memory, and each loop that may run for more than some 50 ms, asks work_is_over() now and
 * then. What a loop has built by then is not whole: it is not kept in any cache, and only shown.
 *
 * A guest's pipeline has one struct work. The guest's memory, images and the sources of tables
 * point to it. The resolver's thread sets its end and asks.
 */
#ifndef XTOP_WORK_H
#define XTOP_WORK_H

#include <stdbool.h>

struct work {
	bool (*ends)(void *context); /* whether the work is to end now; NULL: it never is */
	void *context;
	bool over; /* ends() has said so once */
};

/* WORK may be NULL: nobody breaks it off. */
void work_set_end(struct work *work, bool (*ends)(void *context), void *context);
/* After true, it is always true. False if WORK is NULL. */
bool work_is_over(struct work *work);

#endif
