/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to unwinding by instructions: the rows of the functions that were read. A row is an
 * address and the number of a rule, as in a struct cfi. Rows of one function stand together. The
 * functions' rows stand in the order in which the functions were read. The resolver's thread.
 *
 *   offset ─► blocks ─► functions, ascending ─► addresses ─► row_rules
 *
 * Offsets are from the start of the image's code.
 */
#ifndef XTOP_UNWIND_COMPUTED_ROWS_H
#define XTOP_UNWIND_COMPUTED_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct computed_function {
	uint32_t start, end;
	uint32_t row, n_rows;
};

struct computed_rows {
	struct computed_function *functions; /* ascending; they do not overlap */
	size_t n_functions, functions_capacity;
	uint32_t *blocks; /* how many functions begin before each block; NULL: no functions */
	uint32_t n_blocks;
	unsigned block_shift;
	uint32_t *addresses; /* of rows */
	uint16_t *row_rules;
	size_t n_rows, rows_capacity;
};

/* For offsets below SPAN. */
void computed_rows_init(struct computed_rows *rows, uint32_t span);
void computed_rows_deinit(struct computed_rows *rows);
size_t computed_rows_memory_bytes(const struct computed_rows *rows);

/* Whether no more functions can be added. */
bool computed_rows_are_full(const struct computed_rows *rows);
/* How many functions begin at OFFSET, which is below the span, or before. */
size_t computed_rows_count_before(const struct computed_rows *rows, uint32_t offset);
/* NULL: no function that was added lies at OFFSET, which is below the span. */
const struct computed_function *computed_rows_find(const struct computed_rows *rows,
						   uint32_t offset);
/* The number of the rule at OFFSET in FUNCTION. */
uint32_t computed_rows_find_rule(const struct computed_rows *rows,
				 const struct computed_function *function, uint32_t offset);

/*
 * Whether a function can be added in [START, END): there is room, and none that was added overlaps
 * it. *FUNCTION is then an empty one, for computed_rows_add().
 */
bool computed_rows_begin(struct computed_rows *rows, uint32_t start, uint32_t end,
			 struct computed_function *function);
/* Adds a row to FUNCTION, unless its last one has the same RULE. False: no room for it. */
bool computed_rows_add(struct computed_rows *rows, struct computed_function *function,
		       uint32_t offset, uint32_t rule);
/* Takes back all rows of FUNCTION. */
void computed_rows_forget(struct computed_rows *rows, struct computed_function *function);
/* FUNCTION is found from now on. No other function was begun since. */
void computed_rows_end(struct computed_rows *rows, const struct computed_function *function);

#endif
