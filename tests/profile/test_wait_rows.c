/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of waits: passes, the longest wait, limits, and what is forgotten. */
#include "config.h"

#include <stdlib.h>

#include "profile/wait_rows.h"
#include "tests/support/tap.h"

#define S 1000000000ULL

static struct wait_rows *rows;

static uint32_t row_of(uint32_t site)
{
	const struct snapshot_wait key = { .process = 1, .thread = 2, .site = site };

	return wait_rows_find_or_add(rows, &key);
}

static struct snapshot_waits *copy(void)
{
	struct snapshot_waits *waits = calloc(1, sizeof(*waits));

	wait_rows_copy(rows, waits);
	return waits;
}

static void test_pass(void)
{
	struct snapshot_waits *waits;
	uint32_t row;

	rows = wait_rows_create();
	row = row_of(7);
	check(row_of(8) != row && row_of(7) == row, "a row for each site");
	wait_rows_update(rows, row, OS_WAIT_SLEEPING, 3 * S, 100 * S);
	wait_rows_update(rows, row, OS_WAIT_BLOCKED, 2 * S, 100 * S);
	waits = copy();
	check(waits->n_rows == 2 && !waits->rows[0].now, "a pass that goes on is not shown");
	snapshot_waits_destroy(waits);
	check(!wait_rows_end_pass(rows, 100 * S), "no row is forgotten while tasks wait");
	waits = copy();
	check(waits->rows[0].now == 2 && waits->rows[0].longest_ns == 3 * S &&
		      waits->rows[0].states == (1 << OS_WAIT_SLEEPING | 1 << OS_WAIT_BLOCKED),
	      "a site's row has its tasks, states and longest wait");
	snapshot_waits_destroy(waits);
	wait_rows_end(rows, row, 4 * S);
	wait_rows_end_pass(rows, 101 * S);
	waits = copy();
	check(!waits->rows[0].now && waits->rows[0].longest_ns == 4 * S && waits->rows[0].states,
	      "when nobody waits any more, the longest wait and the states stay");
	snapshot_waits_destroy(waits);
	wait_rows_reset(rows);
	waits = copy();
	check(!waits->n_rows && !waits->rows, "after a reset nothing is left");
	snapshot_waits_destroy(waits);
	wait_rows_destroy(rows);
}

/* Programs come and go: the table is full of sites at which nobody waits any more. */
static void test_limits(void)
{
	struct snapshot_waits *waits;

	rows = wait_rows_create();
	for (uint32_t site = 0; site < WAIT_ROWS_MAX; site++)
		wait_rows_update(rows, row_of(site), OS_WAIT_SLEEPING, S, 100 * S);
	check(row_of(WAIT_ROWS_MAX) == WAIT_ROWS_NONE, "there are at most WAIT_ROWS_MAX rows");
	waits = copy();
	check(waits->n_rows == WAIT_ROWS_MAX && waits->rows_refused == 1,
	      "a wait without a row is counted");
	snapshot_waits_destroy(waits);
	check(!wait_rows_end_pass(rows, 100 * S) && !wait_rows_end_pass(rows, 200 * S),
	      "rows of recent waits stay in a full table");
	wait_rows_update(rows, row_of(WAIT_ROWS_MAX - 1), OS_WAIT_SLEEPING, 600 * S,
			 101 * S + WAIT_ROWS_FORGET_NS);
	check(wait_rows_end_pass(rows, 101 * S + WAIT_ROWS_FORGET_NS),
	      "old rows are forgotten when the table is full");
	waits = copy();
	check(waits->n_rows == 1 && waits->rows[0].site == WAIT_ROWS_MAX - 1 &&
		      waits->rows[0].longest_ns == 600 * S,
	      "a row where a task waits stays");
	snapshot_waits_destroy(waits);
	check(row_of(WAIT_ROWS_MAX - 1) == 0 && row_of(WAIT_ROWS_MAX) == 1,
	      "after forgetting, a row is found and there is room");
	wait_rows_destroy(rows);
}

int main(void)
{
	test_pass();
	test_limits();
	return tap_done();
}
