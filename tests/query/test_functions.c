/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flat table: self and children, recursion counted once, unnamed frames together or apart, the
 * process of a function, a joined baseline.
 */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/query/functions.h"
#include "xtop/symbol/symbol.h"

static struct frames *frames;

struct expected {
	const char *name;
	uint64_t children, self;
};

static const struct function_row *find(const struct function_table *table, const char *name,
				       bool addresses)
{
	char buffer[FRAME_TEXT_BYTES];

	for (size_t i = 0; i < table->n; i++)
		if (!strcmp(frame_text(frames_get(frames, table->rows[i].frame), addresses, buffer),
			    name))
			return &table->rows[i];
	return NULL;
}

static void check_table(const char *const *stacks, const char *regex, bool addresses,
			uint64_t whole, const struct expected *expected, size_t n)
{
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct filter *filter = NULL;
	struct function_table table;

	if (regex)
		must(filter_create(regex, &filter));
	must(functions_build(snapshot, filter, addresses, &table));
	check_u64(table.n, n, "rows of the table of functions");
	check_u64(table.whole.children_total, whole, "weight of the whole table");
	check(table.whole.children_live == whole, "whole, live: %g", table.whole.children_live);
	for (size_t i = 0; i < n; i++) {
		const struct function_row *row = find(&table, expected[i].name, addresses);

		if (!check(row, "%s is there", expected[i].name))
			continue;
		check_u64(row->weights.children_total, expected[i].children, expected[i].name);
		check_u64(row->weights.self_total, expected[i].self, expected[i].name);
		check(row->weights.children_live == expected[i].children, "live children %g",
		      row->weights.children_live);
		check(row->weights.self_live == expected[i].self, "live self %g",
		      row->weights.self_live);
	}
	functions_deinit(&table);
	filter_destroy(filter);
	snapshot_destroy(snapshot);
}
#define CHECK_TABLE(stacks, regex, addresses, whole, expected)                                     \
	check_table(stacks, regex, addresses, whole, expected,                                     \
		    sizeof(expected) / sizeof((expected)[0]))

/*
 *	5  main;f             children  self
 *	3  main;f;g      main       10     0
 *	2  main;g;f      f          10     7    in all ten, the innermost of seven
 *	                 g           5     3
 */
static void test_plain(void)
{
	static const char *const stacks[] = { "main;f 5", "main;f;g 3", "main;g;f 2", NULL };
	static const struct expected expected[] = { { "main", 10, 0 },
						    { "f", 10, 7 },
						    { "g", 5, 3 } };

	CHECK_TABLE(stacks, NULL, false, 10, expected);
}

/*
 *	4  main;fib;fib;fib   children  self
 *	2  main;fib      fib         6     6    each stack once, not 4 * 3 + 2
 *	3  main;a;b;a    a           8     8    through another function too
 *	5  main;a        b           3     0
 *	1  fib           main       14     0    fib: 7, 7
 */
static void test_recursion(void)
{
	static const char *const stacks[] = { "main;fib;fib;fib 4", "main;fib 2", "main;a;b;a 3",
					      "main;a 5",           "fib 1",      NULL };
	static const struct expected expected[] = {
		{ "main", 14, 0 }, { "fib", 7, 7 }, { "a", 8, 8 }, { "b", 3, 0 }
	};

	CHECK_TABLE(stacks, NULL, false, 15, expected);
}

/*
 * The root and processes have no rows, marks have. [unknown] is one row, or one for each address.
 */
static void test_kinds(void)
{
	static const char *const stacks[] = { "@httpd;%t;.work;?10 1", "@httpd;.work;?20;?10 2",
					      "@gzip;?20 4", NULL };
	static const struct expected together[] = { { "[truncated]", 1, 0 },
						    { "work", 3, 0 },
						    { "[unknown]", 7, 7 } };
	static const struct expected apart[] = {
		{ "[truncated]", 1, 0 }, { "work", 3, 0 }, { "0x10", 3, 3 }, { "0x20", 6, 4 }
	};

	CHECK_TABLE(stacks, NULL, false, 7, together);
	CHECK_TABLE(stacks, NULL, true, 7, apart);
}

/*
 *	                       matches "^g$"       of process httpd
 *	5  httpd;main;f             -                    5
 *	3  httpd;main;f;g           3                    3
 *	2  gzip;main;g;f            2                    -
 *	4  gzip;main                -                    -
 *
 *	              children  self         children  self
 *	         main        5     0                8     0
 *	         f           5     2                8     5
 *	         g           5     3                3     3
 */
static void test_filter(void)
{
	static const char *const stacks[] = { "@httpd;main;f 5", "@httpd;main;f;g 3",
					      "@gzip;main;g;f 2", "@gzip;main 4", NULL };
	static const struct expected of_g[] = { { "main", 5, 0 }, { "f", 5, 2 }, { "g", 5, 3 } };
	static const struct expected of_httpd[] = { { "main", 8, 0 },
						    { "f", 8, 5 },
						    { "g", 3, 3 } };

	CHECK_TABLE(stacks, "^g$", false, 5, of_g);
	CHECK_TABLE(stacks, "httpd", false, 8, of_httpd);
	check_table(stacks, "nothing", false, 0, NULL, 0);
}

static void test_process_of_function(void)
{
	static const char *const stacks[] = { "@web;.main;copy 4", "@sh;.main;copy 5",
					      "@web;copy 2", "idle 9", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct function_table table;

	must(functions_build(snapshot, NULL, false, &table));
	check(find(&table, "copy", false)->process == stacks_frame(frames, "@web") &&
		      find(&table, "copy", false)->n_processes == 2,
	      "copy is mostly web's, of 2");
	check(find(&table, "main", false)->process == stacks_frame(frames, "@sh"),
	      "main is mostly sh's");
	check(find(&table, "idle", false)->process == FRAME_NONE, "idle belongs to no process");
	functions_deinit(&table);
	snapshot_destroy(snapshot);
}

static void test_join(void)
{
	static const char *const then[] = { "main;old 4", "main;both 4", NULL }, *const now[] = {
		"main;both 2", "main;new 6", NULL
	};
	struct snapshot *before = stacks_snapshot(frames, then),
			*after = stacks_snapshot(frames, now);
	struct function_table table, base;

	must(functions_build(before, NULL, false, &base));
	must(functions_build(after, NULL, false, &table));
	must(functions_join(&table, &base));
	check_u64(table.n, 4, "main, old, both, new");
	check(find(&table, "old", false) && find(&table, "old", false)->weights.self_total == 0,
	      "a function that is gone has a row without weight");
	check(find(&table, "both", false)->base &&
		      base.rows[find(&table, "both", false)->base - 1].weights.self_total == 4,
	      "a function of both runs is joined");
	check(!find(&table, "new", false)->base, "a new function has no row in the baseline");
	functions_deinit(&table);
	functions_deinit(&base);
	snapshot_destroy(before);
	snapshot_destroy(after);
}

/*
 * Whether a table of STACKS, with what only BASE has (NULL: none), has the names WANTED. A function
 * has its parameters if another row, or a function met before, has its name without them.
 */
static void check_overloads(struct frames *named, const char *const *stacks,
			    const char *const *base, const char *wanted, const char *label)
{
	struct snapshot *snapshot = stacks_snapshot(named, stacks);
	struct snapshot *before = base ? stacks_snapshot(named, base) : NULL;
	struct function_table table, old = { 0 };
	char text[256] = "", name[FRAME_NAME_BYTES];

	must(functions_build(snapshot, NULL, false, &table));
	if (before) {
		must(functions_build(before, NULL, false, &old));
		must(functions_join(&table, &old));
	}
	for (size_t i = 0; i < table.n; i++) {
		strcat(text, functions_name(named, &table.rows[i], false, name));
		strcat(text, "; ");
	}
	check_string(text, wanted, label);
	functions_deinit(&table);
	functions_deinit(&old);
	snapshot_destroy(snapshot);
	snapshot_destroy(before);
}

static void test_overloads(void)
{
	static const char *const one[] = { "_Z4loadi 3", NULL };
	static const char *const both[] = { "_Z4loadd 2", "_Z4loadi 3", "_Z5storei 1", NULL };
	static const char *const second[] = { "_Z4loadd 2", NULL };
	struct frames *named;

	must(frames_create(symbol_demangle, &named));
	check_overloads(named, one, NULL, "load; ", "a function that is alone");
	check_overloads(named, both, NULL, "load(int); load(double); store; ", "two overloads");
	check_overloads(named, one, NULL, "load; ", "the first one alone");
	check_overloads(named, second, NULL, "load(double); ", "the second one alone");
	check_overloads(named, second, one, "load(int); load(double); ", "the first one is gone");
	check_overloads(named, one, second, "load(int); load(double); ", "the second one is gone");
	frames_destroy(named);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_overloads();
	test_plain();
	test_recursion();
	test_kinds();
	test_filter();
	test_process_of_function();
	test_join();
	frames_destroy(frames);
	return tap_done();
}
