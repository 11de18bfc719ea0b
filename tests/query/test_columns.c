/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns: their names, their cells, and an order that is always the same. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/query/columns.h"

static struct frames *frames;

static char *demangle(const char *name)
{
	return strcmp(name, "_Z4workv") ? NULL : strdup("work()");
}

static void test_names(void)
{
	for (size_t i = 0; i < N_COLUMNS; i++) {
		check(columns[i].id == i, "%s stands at its id", columns[i].name);
		check(column_find(columns[i].name) == &columns[i], "%s is found", columns[i].name);
	}
	check(column_find("c") == &columns[COLUMN_CHILDREN], "a unique prefix finds a column");
	check(column_find("SYM") == &columns[COLUMN_SYMBOL], "a name in capitals finds a column");
	check(!column_find("s"), "an ambiguous prefix finds none");
	check(!column_find(""), "an empty name finds none");
	check(!column_find("selfish"), "a name that is too long finds none");
}

static void check_cell(const struct column_context *context, enum column_id id,
		       const struct function_row *row, const char *expected)
{
	char cell[COLUMN_CELL_BYTES];
	size_t length = columns[id].entry(context, row, cell, sizeof(cell));

	check_string(cell, expected, columns[id].name);
	check_u64(length, strlen(cell), "length of a cell's text");
}

static void test_cells(void)
{
	static const char *const stacks[] = { "main;read 1", "main;._Z4workv 2", "?ab 1", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct function_table table;
	struct column_context context = { .snapshot = snapshot, .table = &table };
	char cell[8];

	must(functions_build(snapshot, NULL, true, &table));
	columns_sort(&context, &columns[COLUMN_SAMPLES], table.rows, table.n);
	check_cell(&context, COLUMN_CHILDREN, &table.rows[0], " 75.00");
	check_cell(&context, COLUMN_SELF, &table.rows[0], "  0.00");
	check_cell(&context, COLUMN_SAMPLES, &table.rows[0], "3");
	check_cell(&context, COLUMN_SYMBOL, &table.rows[0], "[k] main");
	check_cell(&context, COLUMN_MODULE, &table.rows[0], "[kernel]");
	check_cell(&context, COLUMN_SYMBOL, &table.rows[1], "[.] work()");
	check_cell(&context, COLUMN_MODULE, &table.rows[1], "prog");
	check_cell(&context, COLUMN_SELF, &table.rows[1], " 50.00");
	check_cell(&context, COLUMN_SYMBOL, &table.rows[2], "[k] [unknown]");
	context.addresses = context.raw_names = true;
	check_cell(&context, COLUMN_SYMBOL, &table.rows[1], "[.] _Z4workv");
	check_cell(&context, COLUMN_SYMBOL, &table.rows[2], "[k] 0xab");
	check_u64(columns[COLUMN_SYMBOL].entry(&context, &table.rows[0], cell, sizeof(cell)), 7,
		  "length of a cell that is cut");
	check_string(cell, "[k] mai", "text of a cell that is cut");
	functions_deinit(&table);
	snapshot_destroy(snapshot);
}

/* [truncated] is in most stacks but is no function: it must not be the first line. */
static void test_truncated_last(void)
{
	static const char *const stacks[] = { "%t;main;read 9", "main;read 1", "%t;zoo 1", NULL };
	static const enum column_id ids[] = { COLUMN_CHILDREN, COLUMN_SELF, COLUMN_SAMPLES,
					      COLUMN_SYMBOL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct function_table table;
	struct column_context context = { .snapshot = snapshot,
					  .table = &table,
					  .truncated_last = true };

	must(functions_build(snapshot, NULL, false, &table));
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		columns_sort(&context, &columns[ids[i]], table.rows, table.n);
		check_u64(table.rows[table.n - 1].frame, FRAME_TRUNCATED, columns[ids[i]].name);
	}
	context.truncated_last = false;
	columns_sort(&context, &columns[COLUMN_CHILDREN], table.rows, table.n);
	check_u64(table.rows[1].frame, FRAME_TRUNCATED,
		  "[truncated] as a caller is sorted by weight");
	functions_deinit(&table);
	snapshot_destroy(snapshot);
}

/*
 *	time, half-lives   0   5      live percents  totals
 *	early             31                  3.03   31/32
 *	late                   1             96.97    1/32
 */
static void test_totals(void)
{
	struct profile *profile;
	struct snapshot *snapshot;
	struct function_table table;
	struct column_context context = { .table = &table };

	must(profile_create(100, HALF_LIFE, frames, &profile));
	stacks_add(profile, frames, HALF_LIFE, "early 32");
	stacks_add(profile, frames, 6 * HALF_LIFE, "late 32");
	must(profile_copy(profile, 6 * HALF_LIFE, &snapshot));
	must(functions_build(snapshot, NULL, false, &table));
	context.snapshot = snapshot;
	columns_sort(&context, &columns[COLUMN_SELF], table.rows, table.n);
	check_cell(&context, COLUMN_SYMBOL, &table.rows[0], "[k] late");
	check_cell(&context, COLUMN_SELF, &table.rows[0], " 96.97");
	context.totals = true;
	check_cell(&context, COLUMN_SELF, &table.rows[0], " 50.00");
	functions_deinit(&table);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* Rows in any order are sorted the same way: ties by name, then by address. */
static void test_order(void)
{
	static const char *const stacks[] = { "b 1", "a 1", "?20 1", "?10 1", "c 2", NULL };
	static const char *const expected[] = { "[k] c", "[k] 0x10", "[k] 0x20", "[k] a", "[k] b" };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct function_table table;
	struct column_context context = { .snapshot = snapshot,
					  .table = &table,
					  .addresses = true };

	must(functions_build(snapshot, NULL, true, &table));
	srand(1);
	for (unsigned round = 0; round < 20; round++) {
		for (size_t i = table.n - 1; i > 0; i--) {
			struct function_row row = table.rows[i];
			size_t j = rand() % (i + 1);

			table.rows[i] = table.rows[j];
			table.rows[j] = row;
		}
		columns_sort(&context, &columns[COLUMN_CHILDREN], table.rows, table.n);
		for (size_t i = 0; i < table.n; i++)
			check_cell(&context, COLUMN_SYMBOL, &table.rows[i], expected[i]);
	}
	functions_deinit(&table);
	snapshot_destroy(snapshot);
}

/* STACKS: two functions, whose shares are the same as shown. */
static void check_calm(const char *const *stacks)
{
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct function_table table;
	struct column_context context = { .snapshot = snapshot, .table = &table };

	must(functions_build(snapshot, NULL, true, &table));
	columns_sort(&context, &columns[COLUMN_SELF], table.rows, table.n);
	check_cell(&context, COLUMN_SELF, &table.rows[0], " 50.00");
	check_cell(&context, COLUMN_SYMBOL, &table.rows[0], "[k] a");
	check_cell(&context, COLUMN_SYMBOL, &table.rows[1], "[k] b");
	functions_deinit(&table);
	snapshot_destroy(snapshot);
}

/* Rows with equal figures keep their order from refresh to refresh, whichever weighs a little more. */
static void test_calm(void)
{
	static const char *const before[] = { "a 30001", "b 30000", NULL };
	static const char *const after[] = { "a 30001", "b 30002", NULL };

	check_calm(before);
	check_calm(after);
}

int main(void)
{
	must(frames_create(demangle, &frames));
	test_names();
	test_cells();
	test_truncated_last();
	test_totals();
	test_order();
	test_calm();
	frames_destroy(frames);
	return tap_done();
}
