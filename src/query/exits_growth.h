/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How exits to Xen grew from one table to the next, and the table of a range of time, which is the
 * sum of what grew in each of its moments. Belongs to a history, so one thread at a time.
 */
#ifndef QUERY_EXITS_GROWTH_H
#define QUERY_EXITS_GROWTH_H

#include "xtop/base/error.h"
#include "xtop/profile/exits.h"

/* The weight of a reason, or of a reason's function. */
struct exits_part {
	struct exit_reason reason;
	bool is_cause;
	struct exits_place place; /* a function has it */
	uint32_t frame;           /* a reason has it: struct exits_row */
	struct exits_weight weight;
	uint64_t longest_ns; /* a reason has it; 0: not known */
};

/* What grew since the last table. */
struct exits_grown {
	struct exits_weight weight;
	uint64_t longest_ns; /* the reason's longest exit, if it is new; otherwise 0 */
};

/* Totals of the last table, sorted. All zeros is the growth from nothing. */
struct exits_growth {
	struct exits_part *parts;
	size_t n;
};

void exits_growth_deinit(struct exits_growth *growth);
/*
 * Returns how much each row and then each function of COPY grew since the last TABLE; free() frees
 * it. COPY is a part of TABLE, whose totals are kept for the next call. NULL: there is no TABLE, or
 * memory is out.
 */
struct exits_grown *exits_growth_update(struct exits_growth *growth,
					const struct exits_table *table,
					const struct exits_table *copy);

/* The growth of several moments. All zeros is an empty sum. */
struct exits_sum {
	struct exits_part *parts;
	size_t n, capacity;
	struct exits_table *table; /* all but rows and functions; NULL: Xen was not traced */
};

void exits_sum_deinit(struct exits_sum *sum);
/*
 * Adds GROWN, the growth from the table BEFORE to the table NOW. Each of them may be NULL. False:
 * out of memory.
 */
bool exits_sum_add(struct exits_sum *sum, const struct exits_table *before,
		   const struct exits_table *now, const struct exits_grown *grown);
/* Returns the table of the sum, which exits_table_destroy() frees. NULL: none, or no memory. */
struct exits_table *exits_sum_build(struct exits_sum *sum);

#endif
