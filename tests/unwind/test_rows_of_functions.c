/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of functions that were read and their rows (unwind/computed_rows.h): functions that are
 * added in any order, near and far apart, are found as a search of all of them finds them, and so are
 * their rows.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/tap.h"
#include "unwind/computed_rows.h"

#define UNITS    3000 /* places for functions */
#define MAX_ROWS 50   /* rows of one function, at most */

static struct {
	uint32_t start, end; /* end 0: there is none */
	uint32_t n, offsets[MAX_ROWS], rules[MAX_ROWS];
} wanted[UNITS], *function;

/* Rows some 25 bytes apart, as compilers make them; every tenth says what the one before said. */
static void make_rows(uint32_t start, uint32_t end)
{
	uint32_t step = (end - start) / (MAX_ROWS - 1) > 25 ? (end - start) / (MAX_ROWS - 1) : 25;

	function->n = 0;
	for (uint32_t at = start; at < end && function->n < MAX_ROWS;
	     at += 1 + (uint32_t)rand() % (2 * step)) {
		uint32_t i = function->n++;

		function->offsets[i] = at;
		function->rules[i] = i && rand() % 10 == 0 ? function->rules[i - 1]
							   : (uint32_t)rand() % 1000;
	}
}

static bool add(struct computed_rows *rows, uint32_t unit, uint32_t start, uint32_t end)
{
	if (!computed_rows_begin(rows, start, end))
		return false;
	function = &wanted[unit];
	make_rows(start, end);
	for (uint32_t i = 0; i < function->n; i++)
		computed_rows_add(rows, function->offsets[i], function->rules[i]);
	computed_rows_end(rows, start, end);
	return true;
}

static uint32_t rule_at(uint32_t unit, uint32_t offset)
{
	uint32_t rule = 0;

	for (uint32_t i = 0; i < wanted[unit].n && offset < wanted[unit].end; i++)
		if (wanted[unit].offsets[i] <= offset)
			rule = wanted[unit].rules[i];
	return rule;
}

static uint32_t count_rows(void)
{
	uint32_t n = 0;

	for (uint32_t unit = 0; unit < UNITS; unit++)
		for (uint32_t i = 0; i < wanted[unit].n; i++)
			n += !i || wanted[unit].rules[i] != wanted[unit].rules[i - 1];
	return n;
}

static uint32_t count_wrong(const struct computed_rows *rows, uint32_t unit, uint32_t offset)
{
	bool there = offset < wanted[unit].end;
	const struct computed_function *found = computed_rows_find(rows, offset);

	return !found == there ||
	       (there && (found->start != wanted[unit].start || found->end != wanted[unit].end)) ||
	       computed_rows_find_rule(rows, offset) != rule_at(unit, offset);
}

/* Functions in random units of UNIT_BYTES each, in random order. */
static void test_random(uint32_t unit_bytes)
{
	uint32_t span = UNITS * unit_bytes, n = 0, n_wrong = 0;
	struct computed_rows rows;

	memset(wanted, 0, sizeof(wanted));
	if (!computed_rows_init(&rows, span))
		exit(99);
	check(!computed_rows_find(&rows, span - 1) && !computed_rows_find_rule(&rows, span - 1),
	      "%u: nothing in an empty table", unit_bytes);
	for (unsigned i = 0; i < 2 * UNITS; i++) {
		uint32_t unit = (uint32_t)rand() % UNITS, start = unit * unit_bytes;
		uint32_t end = start + unit_bytes / (1 + (uint32_t)rand() % 2);
		bool added = add(&rows, unit, start, end);

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
		for (unsigned k = 0; k < 60; k++) {
			uint32_t offset = unit * unit_bytes + k * (unit_bytes - 1) / 59;

			n_wrong += count_wrong(&rows, unit, offset);
		}
	check_u64(n_wrong, 0, "places whose rule or function is wrong");
	check(!computed_rows_begin(&rows, 0, span),
	      "%u: a function that overlaps others is not added", unit_bytes);
	check(computed_rows_memory_bytes(&rows) <= count_rows() * 8 + n * 16 + rows.n_blocks * 4 + 2048,
	      "%u: at most 8 bytes a row: %zu for %u", unit_bytes,
	      computed_rows_memory_bytes(&rows), count_rows());
	computed_rows_deinit(&rows);
}

/* A function without rows, which has rule 0, and one with a single row for all of it. */
static void test_plain(void)
{
	struct computed_rows rows;
	size_t n_bytes;

	if (!computed_rows_init(&rows, 1U << 30))
		exit(99);
	check(computed_rows_begin(&rows, 100, 1000), "a function may be added to an empty table");
	computed_rows_add(&rows, 100, 5);
	rows.n_new_rows = 0;
	computed_rows_end(&rows, 100, 1000);
	check(computed_rows_find(&rows, 500) && !computed_rows_find_rule(&rows, 500),
	      "a function without rows has rule 0");
	computed_rows_begin(&rows, 1000, 1U << 29);
	computed_rows_add(&rows, 1000, 5);
	computed_rows_end(&rows, 1000, 1U << 29);
	check(!computed_rows_find_rule(&rows, 999) && computed_rows_find_rule(&rows, 1000) == 5 &&
		      computed_rows_find_rule(&rows, (1U << 29) - 1) == 5 &&
		      !computed_rows_find_rule(&rows, 1U << 29),
	      "a function with one row has that row everywhere");
	n_bytes = computed_rows_memory_bytes(&rows) - rows.n_blocks * sizeof(*rows.blocks);
	check(n_bytes < 2048, "all blocks of a long function have the same row: %zu bytes", n_bytes);
	computed_rows_deinit(&rows);
}

int main(void)
{
	test_random(16);
	test_random(100);
	test_random(5000);
	test_random(1000000);
	test_plain();
	return tap_done();
}
