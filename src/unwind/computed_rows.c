/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of functions that were read; see computed_rows.h. */
#include "config.h"

#include "unwind/computed_rows.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/limit.h"
#include "xtop/vector.h"

/*
 * A million rows take 6 to 7.5 MiB. Functions that are met when the tables are full stay unknown.
 */
#define COMPUTED_MAX_ROWS      LIMIT(1U << 20, 256)
#define COMPUTED_MIN_ROWS      64
#define COMPUTED_MAX_FUNCTIONS LIMIT(1U << 17, 64)

/* Three functions or so begin in a block, and a function that is added moves all blocks behind. */
#define COMPUTED_BLOCK_SHIFT 10
#define COMPUTED_MAX_BLOCKS  (1U << 15)

void computed_rows_init(struct computed_rows *rows, uint32_t span)
{
	*rows = (struct computed_rows){ .block_shift = COMPUTED_BLOCK_SHIFT };
	while (span >> rows->block_shift >= COMPUTED_MAX_BLOCKS)
		rows->block_shift++;
	rows->n_blocks = (span >> rows->block_shift) + 2; /* the span's last block, and the end */
}

void computed_rows_deinit(struct computed_rows *rows)
{
	free(rows->functions);
	free(rows->blocks);
	free(rows->addresses);
	free(rows->row_rules);
}

size_t computed_rows_memory_bytes(const struct computed_rows *rows)
{
	return rows->functions_capacity * sizeof(*rows->functions) +
	       (rows->blocks ? rows->n_blocks * sizeof(*rows->blocks) : 0) +
	       rows->rows_capacity * (sizeof(*rows->addresses) + sizeof(*rows->row_rules));
}

/* --- looking up ------------------------------------------------------------------------------- */

bool computed_rows_are_full(const struct computed_rows *rows)
{
	return rows->n_functions == COMPUTED_MAX_FUNCTIONS;
}

/* Neither search has a branch that depends on what it finds: such a branch cannot be predicted. */
size_t computed_rows_count_before(const struct computed_rows *rows, uint32_t offset)
{
	const struct computed_function *functions = rows->functions;
	uint32_t block = offset >> rows->block_shift;
	size_t low, n;

	if (!rows->blocks)
		return 0;
	low = rows->blocks[block];
	n = rows->blocks[block + 1] - low;
	while (n) {
		size_t half = (n + 1) / 2;

		low = functions[low + half - 1].start <= offset ? low + half : low;
		n -= half;
	}
	return low;
}

const struct computed_function *computed_rows_find(const struct computed_rows *rows,
						   uint32_t offset)
{
	size_t n = computed_rows_count_before(rows, offset);

	return n && offset < rows->functions[n - 1].end ? &rows->functions[n - 1] : NULL;
}

uint32_t computed_rows_find_rule(const struct computed_rows *rows,
				 const struct computed_function *function, uint32_t offset)
{
	size_t low = function->row;

	for (size_t n = function->n_rows; n > 1;) {
		size_t half = n / 2;

		low = rows->addresses[low + half] <= offset ? low + half : low;
		n -= half;
	}
	return function->n_rows ? rows->row_rules[low] : 0;
}

/* --- adding ----------------------------------------------------------------------------------- */

static bool computed_rows_reserve_function(struct computed_rows *rows)
{
	if (!rows->blocks)
		rows->blocks = calloc(rows->n_blocks, sizeof(*rows->blocks));
	return rows->blocks && vector_reserve(rows->functions, rows->functions_capacity,
					      rows->n_functions + 1);
}

bool computed_rows_begin(struct computed_rows *rows, uint32_t start, uint32_t end,
			 struct computed_function *function)
{
	size_t i = computed_rows_count_before(rows, start);

	if (computed_rows_are_full(rows) || (i && rows->functions[i - 1].end > start) ||
	    (i < rows->n_functions && rows->functions[i].start < end) ||
	    !computed_rows_reserve_function(rows))
		return false;
	*function = (struct computed_function){ .start = start,
						.end = end,
						.row = (uint32_t)rows->n_rows };
	return true;
}

/*
 * Makes room for one more row. The room grows by a quarter, so that a row of six bytes never takes
 * more than eight. False: out of memory.
 */
static bool computed_rows_reserve_row(struct computed_rows *rows)
{
	size_t capacity = rows->rows_capacity + rows->rows_capacity / 4 + COMPUTED_MIN_ROWS;
	uint32_t *addresses;
	uint16_t *row_rules;

	if (rows->n_rows < rows->rows_capacity)
		return true;
	addresses = reallocarray(rows->addresses, capacity, sizeof(*addresses));
	if (!addresses)
		return false;
	rows->addresses = addresses;
	row_rules = reallocarray(rows->row_rules, capacity, sizeof(*row_rules));
	if (!row_rules)
		return false;
	rows->row_rules = row_rules;
	rows->rows_capacity = capacity;
	return true;
}

bool computed_rows_add(struct computed_rows *rows, struct computed_function *function,
		       uint32_t offset, uint32_t rule)
{
	size_t last = rows->n_rows;

	if (function->n_rows && rows->row_rules[last - 1] == rule)
		return true;
	if (last == COMPUTED_MAX_ROWS || !computed_rows_reserve_row(rows))
		return false;
	rows->addresses[last] = offset;
	rows->row_rules[last] = (uint16_t)rule;
	rows->n_rows++;
	function->n_rows++;
	return true;
}

void computed_rows_forget(struct computed_rows *rows, struct computed_function *function)
{
	rows->n_rows = function->row;
	function->n_rows = 0;
}

void computed_rows_end(struct computed_rows *rows, const struct computed_function *function)
{
	size_t i = computed_rows_count_before(rows, function->start);

	memmove(&rows->functions[i + 1], &rows->functions[i],
		(rows->n_functions - i) * sizeof(*function));
	rows->functions[i] = *function;
	rows->n_functions++;
	for (size_t b = (function->start >> rows->block_shift) + 1; b < rows->n_blocks; b++)
		rows->blocks[b]++;
}
