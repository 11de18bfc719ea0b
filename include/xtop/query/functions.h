/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions take the time: the flat table of functions. Functions of their arguments alone;
 * any thread.
 *
 * ADDRESSES false: all unnamed frames of one kind and module are one row, and the row's frame is
 * their group (struct frame).
 */
#ifndef XTOP_FUNCTIONS_H
#define XTOP_FUNCTIONS_H

#include "xtop/query/filter.h"
#include "xtop/query/weights.h"

struct function_row {
	uint32_t frame;
	struct weights weights; /* children: a stack counts once, even with recursion */
	uint32_t process;       /* the process that has most of the row; FRAME_NONE: no process */
	uint32_t n_processes;   /* number of processes that have part of the row */
	uint32_t overloads;     /* the frame that this one is an overload of; 0: none */
	bool overloaded;        /* another row is an overload of this one */
	uint32_t base;          /* set by functions_join(): row of the baseline + 1; 0: none */
};

struct function_table {
	size_t n;
	struct function_row *rows; /* rows in no particular order: sort through columns.h */
	struct weights whole;      /* 100 % */
};

/*
 * FILTER NULL: all stacks count. With a filter, 100 % is the sum of the matching stacks. The root,
 * processes and threads have no rows; [evicted], [truncated] and [unknown] have rows. Error: out of
 * memory.
 */
struct xtop_error *functions_build(const struct snapshot *snapshot, const struct filter *filter,
				   bool addresses, struct function_table *table);
void functions_deinit(struct function_table *table);
/* The text for ROW: frame_text(), or the whole name of an overloaded function; may be in BUFFER. */
const char *functions_name(const struct frames *frames, const struct function_row *row,
			   bool addresses, char buffer[FRAME_NAME_BYTES]);
/*
 * Sets `base` in each row of TABLE to the row of BASE for the same function. A function that only
 * BASE has gets a row without weight in TABLE, because a function that is gone is a difference,
 * too. Sorts both tables by frame. Error: out of memory.
 */
struct xtop_error *functions_join(struct function_table *table, struct function_table *base);

#endif
