/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who took a guest's physical CPUs in a range of time: the sum of what grew between the moments of
 * a history. Each moment is one observation, from which the errors of the shares follow. Belongs to
 * a history, so one thread at a time.
 */
#ifndef QUERY_TAKERS_SUM_H
#define QUERY_TAKERS_SUM_H

#include "xtop/sample/takers.h"

/* The sum over several moments. All zeros is an empty sum. */
struct takers_sum {
	const struct takers_table *last; /* the newest table that came; NULL: none yet */
	struct takers_added *added;      /* NULL: nothing was added yet */
};

void takers_sum_deinit(struct takers_sum *sum);
/*
 * Adds what happened from the last table to the table NOW, which must live as long as SUM. The
 * first table only marks where the range begins. NOW NULL adds nothing. False: out of memory.
 */
bool takers_sum_add(struct takers_sum *sum, const struct takers_table *now);
/*
 * Returns the table of the sum; free() frees it. NULL: nobody looked at running vCPUs in this time,
 * or no memory.
 */
struct takers_table *takers_sum_build(const struct takers_sum *sum);

#endif
