/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callers and callees: shares sum to the focus, also with recursion; the hottest chains. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/query/neighbours.h"

static struct frames *frames;

/* "main 7, start 2, ": rows in the order of the table. */
static void check_rows(const struct function_table *table, const char *expected, const char *what)
{
	char text[512] = "";
	uint64_t sum = 0;

	for (size_t i = 0; i < table->n; i++) {
		const struct function_row *row = &table->rows[i];

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %" PRIu64 ", ",
			 frames_get(frames, row->frame)->name, row->weights.children_total);
		check(row->weights.children_live == row->weights.children_total,
		      "live weights are the same");
		sum += row->weights.children_total;
	}
	check_string(text, expected, what);
	check_u64(sum, table->whole.children_total, "chains sum to the focus");
}

static struct neighbours build(const char *const *stacks, const char *regex, const char *focus)
{
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct filter *filter = NULL;
	struct neighbours neighbours;

	if (regex)
		must(filter_create(regex, &filter));
	must(neighbours_build(snapshot, filter, false, stacks_frame(frames, focus), &neighbours));
	filter_destroy(filter);
	snapshot_destroy(snapshot);
	return neighbours;
}

/*
 *	5  main;f       callers of f    callees of f
 *	3  main;f;g     main    8       f (itself)  5
 *	2  start;f;h;g  start   2       g           3
 *	9  main;g                       h           2
 */
static void test_plain(void)
{
	static const char *const stacks[] = { "main;f 5", "main;f;g 3", "start;f;h;g 2", "main;g 9",
					      NULL };
	struct neighbours n = build(stacks, NULL, "f");

	check_rows(&n.callers, "main 8, start 2, ", "callers of f");
	check_rows(&n.callees, "f 5, g 3, h 2, ", "callees of f");
	check_u64(n.focus.children_total, 10, "children of f, which is called once in each stack");
	check_u64(n.focus.self_total, 5, "self of f, which is called once in each stack");
	check_u64(n.recursive.children_total, 0, "weight of stacks in which f occurs twice");
	check_u64(n.whole.children_total, 19, "weight of all stacks, also those without f");
	neighbours_deinit(&n);

	n = build(stacks, NULL, "main");
	check_rows(&n.callers, "all 17, ", "the outermost is called by the root");
	check_rows(&n.callees, "f 8, g 9, ", "callees of main");
	neighbours_deinit(&n);
}

/* The table in neighbours.h. */
static void test_recursion(void)
{
	static const char *const stacks[] = { "main;f 5",       "main;f;f;g 3", "main;f;g;f 2",
					      "main;f;g;f;h 1", "main;f;g 1",   NULL };
	struct neighbours n = build(stacks, NULL, "f");

	check_rows(&n.callers, "main 12, ", "callers: the outermost occurrence");
	check_rows(&n.callees, "f 7, g 4, h 1, ", "callees: the innermost occurrence");
	check_u64(n.focus.children_total, 12, "children of f, counted once in each stack");
	check_u64(n.focus.self_total, 7, "self of f, which calls itself");
	check_u64(n.recursive.children_total, 6, "weight of stacks in which f occurs twice");
	neighbours_deinit(&n);
}

static void test_filter(void)
{
	static const char *const stacks[] = { "@a;main;f 5", "@b;main;f;g 3", "@b;f 1", NULL };
	struct neighbours n = build(stacks, "^b$", "f");

	check_rows(&n.callers, "main 3, b 1, ", "callers in process b");
	check_rows(&n.callees, "g 3, f 1, ", "callees in process b");
	check_u64(n.whole.children_total, 4, "weight of all stacks of process b");
	check_u64(n.n_chains, 2, "chains to f in process b");
	neighbours_deinit(&n);
	n = build(stacks, NULL, "nowhere");
	check_u64(n.callers.n + n.callees.n + n.n_chains, 0, "in no stack");
	neighbours_deinit(&n);
}

/* 200 chains of weights 1 .. 200, mixed, and a hotter one that does not go through f. */
static void test_chains(void)
{
	char lines[200][32];
	const char *stacks[202] = { [200] = "main;z 999" };
	struct neighbours n;
	bool sorted = true;

	for (unsigned i = 0; i < 200; i++) {
		snprintf(lines[i], sizeof(lines[i]), "main;f;g%u %u", i, 1 + i * 77 % 200);
		stacks[i] = lines[i];
	}
	n = build(stacks, NULL, "f");
	check_u64(n.n_chains, NEIGHBOURS_MAX_CHAINS, "as many as are kept");
	for (unsigned i = 0; i < n.n_chains; i++)
		sorted = sorted && n.chains[i].weights.self_total == 200 - i;
	check(sorted, "the hottest, hottest first");
	neighbours_deinit(&n);
}

/*
 *	3  main;f;?10     main;f;[unknown]  7
 *	4  main;f;?20     main;f;g          5
 *	5  main;f;g       [unknown];f;g     3
 *	2  ?30;f;g
 *	1  ?40;f;g        by addresses each is a chain of its own
 */
static void test_alike(void)
{
	static const char *const stacks[] = { "main;f;?10 3", "main;f;?20 4", "main;f;g 5",
					      "?30;f;g 2",    "?40;f;g 1",    NULL };
	static const uint64_t merged[] = { 7, 5, 3 }, apart[] = { 5, 4, 3, 2, 1 };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct neighbours n = build(stacks, NULL, "f");

	check_u64(n.n_chains, 3, "chains that read alike are one");
	for (size_t i = 0; i < n.n_chains && i < 3; i++)
		check_u64(n.chains[i].weights.self_total, merged[i], "samples of a chain");
	neighbours_deinit(&n);
	must(neighbours_build(snapshot, NULL, true, stacks_frame(frames, "f"), &n));
	check_u64(n.n_chains, 5, "with addresses no chains read alike");
	for (size_t i = 0; i < n.n_chains && i < 5; i++)
		check_u64(n.chains[i].weights.self_total, apart[i], "samples with addresses");
	neighbours_deinit(&n);
	snapshot_destroy(snapshot);
}

/* Thousands of unnamed chains; always two read alike. */
static void test_many_alike(void)
{
	struct profile *profile;
	struct snapshot *snapshot;
	struct neighbours n;
	uint32_t f = stacks_frame(frames, "f");
	uint64_t sum = 0;
	char name[32];

	must(profile_create(1 << 16, 0, frames, &profile));
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "caller%u", i / 2);
		profile_add(profile,
			    (const uint32_t[]){ stacks_frame(frames, name), f,
						frames_intern(frames, FRAME_KIND_KERNEL, NULL,
							      "[kernel]", 0x5000 + i) },
			    3, SECOND, 1 + i / 2, 1 + i / 2);
	}
	must(profile_copy(profile, SECOND, &snapshot));
	must(neighbours_build(snapshot, NULL, false, f, &n));
	check_u64(n.n_chains, NEIGHBOURS_MAX_CHAINS, "as many as are kept");
	for (size_t i = 0; i < n.n_chains; i++)
		sum += n.chains[i].weights.self_total != 2 * (1000 - i);
	check_u64(sum, 0, "each chain is the sum of two");
	neighbours_deinit(&n);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_plain();
	test_recursion();
	test_filter();
	test_chains();
	test_alike();
	test_many_alike();
	frames_destroy(frames);
	return tap_done();
}
