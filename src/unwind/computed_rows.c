/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of the functions that were read; see computed_rows.h. The resolver's thread. */
#include "config.h"

#include "unwind/computed_rows.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/limit.h"
#include "xtop/base/sorted.h"
#include "xtop/base/vector.h"

/* 6 MiB of rows. Functions that are read when the tables are full stay unknown. */
#define COMPUTED_MAX_ROWS      LIMIT(3U << 19, 256)
#define COMPUTED_MIN_ROWS      64
#define COMPUTED_MAX_FUNCTIONS LIMIT(1U << 17, 64)

/* A block has about ten rows. Even with a span of 4 GiB, an offset in a block has only 16 bits. */
#define COMPUTED_BLOCK_SHIFT 8
#define COMPUTED_MAX_BLOCKS  (1U << 16)
_Static_assert(COMPUTED_MAX_ROWS <= 1U << 21, "a block numbers rows with 21 bits");

/* The first row, which is never overwritten. All blocks without known code use this row. */
static const struct computed_row computed_no_row = { .at = 0, .rule = 0 };

void computed_rows_deinit(struct computed_rows *rows)
{
	free(rows->functions);
	free(rows->blocks);
	free(rows->rows);
	free(rows->new_rows);
}

size_t computed_rows_memory_bytes(const struct computed_rows *rows)
{
	return rows->functions_capacity * sizeof(*rows->functions) +
	       rows->n_blocks * sizeof(*rows->blocks) +
	       rows->rows_capacity * sizeof(*rows->rows) +
	       rows->new_rows_capacity * sizeof(*rows->new_rows);
}

/* --- looking up ------------------------------------------------------------------------------- */

bool computed_rows_are_full(const struct computed_rows *rows)
{
	return rows->n_functions == COMPUTED_MAX_FUNCTIONS;
}

size_t computed_rows_count_before(const struct computed_rows *rows, uint32_t offset)
{
	return sorted_count(rows->functions, rows->n_functions, start, offset);
}

const struct computed_function *computed_rows_find(const struct computed_rows *rows,
						   uint32_t offset)
{
	size_t n = computed_rows_count_before(rows, offset);

	return n && offset < rows->functions[n - 1].end ? &rows->functions[n - 1] : NULL;
}

/* --- room ------------------------------------------------------------------------------------- */

/* Capacity grows by only an eighth, so that little memory is unused. */
static size_t computed_rows_capacity(size_t wanted)
{
	return wanted + wanted / 8 + COMPUTED_MIN_ROWS;
}

/*
 * Copies the used rows, in the order of the blocks, to an array with room for N more rows. Blocks
 * that share one row are adjacent. Returns false if out of memory, or if N more rows are too many.
 */
static bool computed_rows_repack(struct computed_rows *rows, size_t n)
{
	size_t wanted = rows->n_rows - rows->n_unused + n, n_packed = 1;
	size_t capacity = computed_rows_capacity(wanted);
	struct computed_row *packed;
	uint32_t before = 0, packed_before = 0;

	packed = wanted <= COMPUTED_MAX_ROWS ? reallocarray(NULL, capacity, sizeof(*packed)) : NULL;
	if (!packed)
		return false;
	packed[0] = computed_no_row;
	for (uint32_t i = 0; i < rows->n_blocks; i++) {
		struct computed_block *block = &rows->blocks[i];
		const struct computed_row *first = &rows->rows[block->first];

		if (block->first && block->first != before) {
			memcpy(&packed[n_packed], first, block->n * sizeof(*packed));
			packed_before = (uint32_t)n_packed;
			n_packed += block->n;
			before = block->first;
		}
		if (block->first)
			block->first = packed_before;
	}
	free(rows->rows);
	rows->rows = packed;
	rows->n_rows = n_packed;
	rows->n_unused = 0;
	rows->rows_capacity = capacity;
	return true;
}

/* Makes room for N more rows. Returns false if out of memory, or if there are too many rows. */
static bool computed_rows_reserve(struct computed_rows *rows, size_t n)
{
	size_t wanted = rows->n_rows + n, capacity = computed_rows_capacity(wanted);
	struct computed_row *grown;

	if (wanted <= rows->rows_capacity)
		return true;
	if (rows->n_unused > rows->n_rows / 8)
		return computed_rows_repack(rows, n);
	grown = wanted <= COMPUTED_MAX_ROWS ? reallocarray(rows->rows, capacity, sizeof(*grown))
					    : NULL;
	if (!grown)
		return false;
	rows->rows = grown;
	rows->rows_capacity = capacity;
	return true;
}

bool computed_rows_init(struct computed_rows *rows, uint32_t span)
{
	unsigned shift = COMPUTED_BLOCK_SHIFT;

	while (span >> shift >= COMPUTED_MAX_BLOCKS)
		shift++;
	*rows = (struct computed_rows){ .block_shift = shift,
					.block_mask = (1U << shift) - 1,
					.n_blocks = (span >> shift) + 1 };
	rows->blocks = calloc(rows->n_blocks, sizeof(*rows->blocks));
	if (!rows->blocks || !computed_rows_reserve(rows, 1))
		return false;
	rows->rows[rows->n_rows++] = computed_no_row;
	return true;
}

/* --- the rows of a block ---------------------------------------------------------------------- */

/* Appends a row to the rows of a block, which begin with the row FIRST and are the last rows. */
static void computed_rows_put(struct computed_rows *rows, size_t first, uint32_t at, uint32_t rule)
{
	if (rows->n_rows == first || rows->rows[rows->n_rows - 1].rule != rule)
		rows->rows[rows->n_rows++] = (struct computed_row){ (uint16_t)at, (uint16_t)rule };
}

/* Appends the new rows that hold in [FROM, TO), offsets in the block that begins at START. */
static void computed_rows_put_new(struct computed_rows *rows, size_t first, uint32_t start,
				  uint32_t from, uint32_t to)
{
	const struct computed_new_row *new_rows = rows->new_rows;
	size_t i = sorted_count(new_rows, rows->n_new_rows, offset, start + from);

	/* i > 0: the first new row is at the function's start, at or before FROM */
	computed_rows_put(rows, first, from, new_rows[i - 1].rule);
	for (; i < rows->n_new_rows && new_rows[i].offset - start < to; i++)
		computed_rows_put(rows, first, new_rows[i].offset - start, new_rows[i].rule);
}

/*
 * Gives BLOCK the rows from FIRST to the last. A block with a single rule shares its row with the
 * block before it, to save memory in long functions without a frame. Such a block is never written
 * again, because functions cover all of it.
 */
static void computed_rows_use(struct computed_rows *rows, struct computed_block *block,
			      size_t first)
{
	const struct computed_block *before = block > rows->blocks ? block - 1 : block;
	uint32_t rule = rows->rows[first].rule;

	*block = (struct computed_block){ .first = (uint32_t)first,
					  .n = (uint32_t)(rows->n_rows - first) };
	if (block->n > 1)
		return;
	if (!rule)
		block->first = 0;
	else if (before->n == 1 && rows->rows[before->first].rule == rule)
		block->first = before->first;
	if (block->first != first)
		rows->n_rows = first;
}

/*
 * Frees OLD, BLOCK's previous rows. If the new rows directly follow OLD, moves them to OLD's place.
 */
static void computed_rows_give_up(struct computed_rows *rows, struct computed_block *block,
				  struct computed_block old, size_t first)
{
	if (!old.first)
		return;
	if (block->first != first || (size_t)old.first + old.n != first) {
		rows->n_unused += old.n;
		return;
	}
	memmove(&rows->rows[old.first], &rows->rows[first], block->n * sizeof(*rows->rows));
	block->first = old.first;
	rows->n_rows -= old.n;
}

/* Appends the rows of a block, with the new function's rows in [FROM, TO). */
static void computed_rows_merge(struct computed_rows *rows, uint32_t block, uint32_t from,
				uint32_t to)
{
	const struct computed_row *old = &rows->rows[rows->blocks[block].first];
	uint32_t n_old = rows->blocks[block].n, i = 0;
	size_t first = rows->n_rows;

	for (; i < n_old && old[i].at < from; i++)
		computed_rows_put(rows, first, old[i].at, old[i].rule);
	computed_rows_put_new(rows, first, block << rows->block_shift, from, to);
	while (i < n_old && old[i].at <= to)
		i++;
	if (to <= rows->block_mask)
		computed_rows_put(rows, first, to, old[i - 1].rule);
	for (; i < n_old; i++)
		computed_rows_put(rows, first, old[i].at, old[i].rule);
}

/*
 * Adds the rows of the new function, in [START, END), to a block. Returns false if there is no
 * room.
 */
static bool computed_rows_write_block(struct computed_rows *rows, uint32_t number, uint32_t start,
				      uint32_t end)
{
	uint32_t block_start = number << rows->block_shift, size = rows->block_mask + 1;
	uint32_t from = start > block_start ? start - block_start : 0;
	uint32_t to = end - block_start < size ? end - block_start : size;
	size_t n_new = rows->n_new_rows < to - from ? rows->n_new_rows : to - from, first;
	struct computed_block *block = &rows->blocks[number], old;

	if (!block->n)
		block->n = 1; /* computed_no_row */
	if (!computed_rows_reserve(rows, block->n + n_new + 2))
		return false;
	first = rows->n_rows;
	old = *block;
	computed_rows_merge(rows, number, from, to);
	if (rows->n_rows - first > COMPUTED_MAX_BLOCK_ROWS) {
		rows->n_rows = first;
		return false;
	}
	computed_rows_use(rows, block, first);
	computed_rows_give_up(rows, block, old, first);
	return true;
}

/* --- adding ----------------------------------------------------------------------------------- */

bool computed_rows_begin(struct computed_rows *rows, uint32_t start, uint32_t end)
{
	size_t i = computed_rows_count_before(rows, start);

	rows->n_new_rows = 0;
	return !computed_rows_are_full(rows) && (!i || rows->functions[i - 1].end <= start) &&
	       (i == rows->n_functions || rows->functions[i].start >= end) &&
	       vector_reserve(rows->functions, rows->functions_capacity, rows->n_functions + 1);
}

bool computed_rows_add(struct computed_rows *rows, uint32_t offset, uint32_t rule)
{
	if (rows->n_new_rows && rows->new_rows[rows->n_new_rows - 1].rule == rule)
		return true;
	if (rows->n_new_rows == COMPUTED_MAX_ROWS ||
	    !vector_reserve(rows->new_rows, rows->new_rows_capacity, rows->n_new_rows + 1))
		return false;
	rows->new_rows[rows->n_new_rows++] =
		(struct computed_new_row){ .offset = offset, .rule = (uint16_t)rule };
	return true;
}

void computed_rows_end(struct computed_rows *rows, uint32_t start, uint32_t end)
{
	size_t i = computed_rows_count_before(rows, start);
	uint32_t block = start >> rows->block_shift, last = (end - 1) >> rows->block_shift;

	memmove(&rows->functions[i + 1], &rows->functions[i],
		(rows->n_functions - i) * sizeof(*rows->functions));
	rows->functions[i] = (struct computed_function){ start, end };
	rows->n_functions++;
	while (rows->n_new_rows && block <= last &&
	       computed_rows_write_block(rows, block, start, end))
		block++;
}
