/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of functions that were read and their rows (unwind/computed_rows.h): functions that are
 * added in any order, near and far apart, are found as a search of all of them finds them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/tap.h"
#include "unwind/computed_rows.h"

#define UNITS 3000 /* places for functions */

static struct {
	uint32_t start, end;
} wanted[UNITS]; /* end 0: there is none */

/* Three rows: rule N from the start on, N + 1 from the second half on, and again, which is no row. */
static bool add(struct computed_rows *rows, uint32_t start, uint32_t end, uint32_t n)
{
	struct computed_function function;

	if (!computed_rows_begin(rows, start, end, &function))
		return false;
	computed_rows_add(rows, &function, start, n);
	computed_rows_add(rows, &function, start + (end - start) / 2, n + 1);
	computed_rows_add(rows, &function, end - 1, n + 1);
	computed_rows_end(rows, &function);
	return function.n_rows == 2;
}

/* Functions in random units of UNIT_BYTES each, in random order. */
static void test_random(uint32_t unit_bytes)
{
	uint32_t span = UNITS * unit_bytes, n = 0, n_wrong = 0;
	struct computed_rows rows;

	memset(wanted, 0, sizeof(wanted));
	computed_rows_init(&rows, span);
	check(!computed_rows_find(&rows, span - 1), "%u: nothing in an empty table", unit_bytes);
	for (unsigned i = 0; i < UNITS; i++) {
		uint32_t unit = (uint32_t)rand() % UNITS, start = unit * unit_bytes;
		uint32_t end = start + unit_bytes / (1 + (uint32_t)rand() % 2);
		bool added = add(&rows, start, end, unit % 1000);

		n_wrong += added != !wanted[unit].end;
		if (added) {
			wanted[unit].start = start;
			wanted[unit].end = end;
			n++;
		}
	}
	check(rows.n_functions == n && !n_wrong, "%u: %u functions are added, none twice",
	      unit_bytes, n);
	for (uint32_t unit = 0; unit < UNITS; unit++)
		for (unsigned k = 0; k < 4; k++) {
			uint32_t offset = unit * unit_bytes + k * (unit_bytes - 1) / 3;
			bool there = offset < wanted[unit].end && wanted[unit].end;
			const struct computed_function *found = computed_rows_find(&rows, offset);
			uint32_t half = wanted[unit].start +
					(wanted[unit].end - wanted[unit].start) / 2;

			n_wrong += !found == there ||
				   (there && (found->start != wanted[unit].start ||
					      computed_rows_find_rule(&rows, found, offset) !=
						      unit % 1000 + (offset >= half)));
		}
	check_u64(n_wrong, 0, "places that were found otherwise");
	check(!computed_rows_begin(&rows, 0, span, &(struct computed_function){ 0 }),
	      "%u: a function that overlaps others is not added", unit_bytes);
	check(computed_rows_memory_bytes(&rows) <= n * 2 * 8 + n * 32 + (span >> 10) * 4 + 2048,
	      "%u: at most 8 bytes a row: %zu", unit_bytes, computed_rows_memory_bytes(&rows));
	computed_rows_deinit(&rows);
}

int main(void)
{
	test_random(16);
	test_random(100);
	test_random(5000);
	test_random(1000000);
	return tap_done();
}
