/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples that stand for more ticks than one: every share comes from the weights, every number of
 * samples from the samples. Here costly() has 2 samples of 30 ticks, cheap() 20 samples of 1 tick:
 *
 *	              samples   ticks   share
 *	costly           2        60      75 %
 *	cheap           20        20      25 %
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "tests/support/profile_stacks.h"
#include "xtop/export/export.h"
#include "xtop/query/call_tree.h"
#include "xtop/query/columns.h"
#include "xtop/query/flame.h"
#include "xtop/query/functions.h"
#include "xtop/query/groups.h"
#include "xtop/query/history.h"
#include "xtop/query/neighbours.h"
#include "xtop/query/selection.h"

static const char *const stacks[] = { "@many;main;.cheap 20", "@few;main;costly 2*30", NULL };
static struct frames *frames;
static struct snapshot *snapshot;

static void check_cell(const struct function_table *table, enum column_id column, bool totals,
		       const char *function, const char *expected)
{
	struct column_context context = { .snapshot = snapshot, .table = table, .totals = totals };
	char cell[COLUMN_CELL_BYTES] = "none";

	for (size_t i = 0; i < table->n; i++)
		if (!strcmp(frames_get(frames, table->rows[i].frame)->name, function))
			columns[column].entry(&context, &table->rows[i], cell, sizeof(cell));
	check_string(cell, expected, columns[column].header);
}

static void test_columns(void)
{
	struct function_table table;

	must(functions_build(snapshot, NULL, false, &table));
	for (int totals = 0; totals <= 1; totals++) {
		check_cell(&table, COLUMN_SELF, totals, "costly", " 75.00");
		check_cell(&table, COLUMN_CHILDREN, totals, "costly", " 75.00");
		check_cell(&table, COLUMN_SELF, totals, "cheap", " 25.00");
		check_cell(&table, COLUMN_SAMPLES, totals, "costly", "2");
		check_cell(&table, COLUMN_SAMPLES, totals, "cheap", "20");
		check_cell(&table, COLUMN_PROCESS, totals, "main", "few +1");
	}
	functions_deinit(&table);
}

static void test_call_tree(void)
{
	static const enum call_tree_kind kinds[] = { CALL_TREE_DOWN, CALL_TREE_INVERTED };

	for (size_t i = 0; i < 2; i++) {
		struct call_tree_settings settings = {
			.kind = kinds[i], .totals = true, .max_lines = 100, .max_forks = 10
		};
		struct call_tree tree;

		must(call_tree_build(snapshot, &settings, &tree));
		check(tree.whole.children_ticks == 80 && tree.whole.children_total == 22,
		      "the whole tree: %g ticks, %" PRIu64 " samples", tree.whole.children_ticks,
		      tree.whole.children_total);
		check(tree.n > 1 && tree.lines[0].weights.children_ticks == 60 &&
			      tree.lines[0].weights.children_total == 2,
		      "the function's first line has 60 of 80 ticks, in 2 samples");
		call_tree_deinit(&tree);
	}
}

static void test_flame(void)
{
	for (int inverted = 0; inverted <= 1; inverted++) {
		struct flame_settings settings = {
			.totals = true, .inverted = inverted, .columns = 80, .max_depth = 10
		};
		struct flame flame;
		int width = 0;

		must(flame_build(snapshot, &settings, &flame));
		for (size_t i = 0; i < flame.n; i++)
			if (!strcmp(frames_get(frames, flame.cells[i].frame)->name, "costly"))
				width = flame.cells[i].width;
		check_u64(width, 60, "columns of 80 for costly()");
		flame_deinit(&flame);
	}
}

static void test_groups(void)
{
	struct groups groups;

	must(groups_build_processes(snapshot, true, &groups));
	check_string(groups.rows[0].name, "few", "the process with most ticks is first");
	check(groups.rows[0].weights.children_ticks == 60 &&
		      groups.rows[0].weights.children_total == 2,
	      "60 ticks, 2 samples");
	groups_deinit(&groups);
	must(groups_build_modules(snapshot, true, &groups));
	check_string(groups.rows[0].name, "[kernel]", "the module with most ticks is first");
	check(groups.rows[0].weights.self_ticks == 60, "the first module has 60 ticks");
	groups_deinit(&groups);
}

static void test_neighbours(void)
{
	struct neighbours neighbours;

	must(neighbours_build(snapshot, NULL, false, stacks_frame(frames, "main"), &neighbours));
	check(neighbours.focus.children_ticks == 80 && neighbours.n_chains == 2 &&
		      neighbours.chains[0].weights.self_ticks == 60,
	      "the chain with most ticks is the hottest");
	for (size_t i = 0; i < neighbours.callees.n; i++)
		if (neighbours.callees.rows[i].frame == stacks_frame(frames, "costly"))
			check(neighbours.callees.rows[i].weights.children_ticks == 60,
			      "a callee with 60 ticks");
	neighbours_deinit(&neighbours);
}

static void test_selection(void)
{
	struct selection selection = { .process = FRAME_NONE, .hide_user = true };
	struct snapshot part;

	must(selection_apply(&selection, snapshot, &part));
	check(part.total_weight == 80 && part.nodes[0].children_total == 22,
	      "a hidden function's weight goes to its caller: %g ticks", part.total_weight);
	selection_deinit(&part, snapshot);
	selection = (struct selection){ .process = stacks_frame(frames, "@few") };
	must(selection_apply(&selection, snapshot, &part));
	check(part.total_weight == 60 && part.live_weight == 60 &&
		      part.nodes[0].children_total == 2,
	      "one process: %g ticks", part.total_weight);
	selection_deinit(&part, snapshot);
}

static void test_filter(void)
{
	struct function_table table;
	struct filter *filter;

	must(filter_create("costly", &filter));
	check(filter_weights(filter, snapshot).children_ticks == 60,
	      "a filter's weight is counted in ticks");
	must(functions_build(snapshot, filter, false, &table));
	check(table.whole.children_ticks == 60 && table.whole.children_total == 2,
	      "the table of matching stacks");
	functions_deinit(&table);
	filter_destroy(filter);
}

static void test_history(void)
{
	struct history *history;
	struct snapshot *past;
	float percent;

	must(history_create(&history));
	snapshot->sequence = 1;
	history_add(history, snapshot);
	history_shares(history, 1, stacks_frame(frames, "costly"), 1, &percent);
	check(fabsf(percent - 75) < 0.01F, "a bar of %.2f %%", (double)percent);
	must(history_get(history, 0, &past));
	check(past->nodes[0].children_ticks == 80 && past->nodes[0].children_total == 22,
	      "the past has weights and samples");
	snapshot_destroy(past);
	history_destroy(history);
}

/* The picture is the same after nodes are renamed and summed anew. */
static void test_node(void)
{
	const struct snapshot_node *root = &snapshot->nodes[0];

	check(root->children_ticks == 80 && root->children_total == 22 &&
		      root->children_live == 80 && snapshot->total_weight == 80,
	      "%g ticks, %" PRIu64 " samples", root->children_ticks, root->children_total);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	snapshot = stacks_snapshot(frames, stacks);
	test_node();
	test_columns();
	test_call_tree();
	test_flame();
	test_groups();
	test_neighbours();
	test_selection();
	test_filter();
	test_history();
	snapshot_destroy(snapshot);
	frames_destroy(frames);
	return tap_done();
}
