/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to unwinding by instructions: the rows of the functions that were read. A row is an
 * offset in a block of code and the number of a rule. The rows of one block are adjacent, even if
 * they belong to different functions. So a look-up is one search, as in a struct cfi. The
 * resolver's thread.
 *
 *   offset ─► blocks ─► rows                  the rule
 *   offset ─► functions, ascending            the bounds
 *
 * Offsets count from the start of the image's code.
 */
#ifndef XTOP_UNWIND_COMPUTED_ROWS_H
#define XTOP_UNWIND_COMPUTED_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct computed_function {
	uint32_t start, end;
};

/* RULE holds from the offset AT in a block to the next row. The first row of a block is at 0. */
struct computed_row {
	uint16_t at, rule;
};

/* Index and number of a block's rows, in one word because a look-up needs both at once. */
struct computed_block {
	uint32_t first : 21;
	uint32_t n : 11;
};
#define COMPUTED_MAX_BLOCK_ROWS ((1U << 11) - 1)

/* A row of the function that is being added. */
struct computed_new_row {
	uint32_t offset;
	uint16_t rule;
};

struct computed_rows {
	struct computed_function *functions; /* ascending; they do not overlap */
	size_t n_functions, functions_capacity;
	struct computed_block *blocks;
	uint32_t n_blocks, block_mask;
	unsigned block_shift;
	struct computed_row *rows;
	size_t n_rows, rows_capacity;
	size_t n_unused; /* rows that no block has any more */
	/* the rows added since computed_rows_begin(); n_new_rows = 0 drops them */
	struct computed_new_row *new_rows;
	size_t n_new_rows, new_rows_capacity;
};

/* For offsets below SPAN. Returns false if out of memory. */
bool computed_rows_init(struct computed_rows *rows, uint32_t span);
void computed_rows_deinit(struct computed_rows *rows); /* computed_rows_init() may have failed */
size_t computed_rows_memory_bytes(const struct computed_rows *rows);

/* Whether no more functions can be added. */
bool computed_rows_are_full(const struct computed_rows *rows);
/* How many functions begin at or before OFFSET, which is below the span. */
size_t computed_rows_count_before(const struct computed_rows *rows, uint32_t offset);
/* The added function at OFFSET, which is below the span; NULL if there is none. */
const struct computed_function *computed_rows_find(const struct computed_rows *rows,
						   uint32_t offset);
/*
 * Begins to add the function in [START, END). Returns false if there is no room, or if the range
 * overlaps an added function. After true, call computed_rows_add() for each row, and then
 * computed_rows_end().
 */
bool computed_rows_begin(struct computed_rows *rows, uint32_t start, uint32_t end);
/*
 * Adds a row: RULE holds from OFFSET on. The first row is at the function's start, and offsets
 * ascend. Returns false if there is no room.
 */
bool computed_rows_add(struct computed_rows *rows, uint32_t offset, uint32_t rule);
/*
 * Look-ups find the function in [START, END) and its rows from now on. Rule 0 holds if no rows were
 * added, or if there is no room for them.
 */
void computed_rows_end(struct computed_rows *rows, uint32_t start, uint32_t end);

/*
 * The number of the rule at OFFSET, which is below the span; 0 where no function was added. Not
 * sorted_count(): three halvings are always done, which is faster (cfi_row()).
 */
static inline uint32_t computed_rows_find_rule(const struct computed_rows *rows, uint32_t offset)
{
	struct computed_block block = rows->blocks[offset >> rows->block_shift];
	const struct computed_row *row = &rows->rows[block.first];
	uint32_t at = offset & rows->block_mask, n = block.n;

	for (unsigned i = 0; i < 3 || n > 1; i++) {
		uint32_t half = n / 2;

		row = row[half].at <= at ? row + half : row;
		n -= half;
	}
	return row->rule;
}

#endif
