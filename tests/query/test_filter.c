/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter: what matches, and that a filtered tree is sound. Filtered tables: test_functions.c.
 */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/query/filter.h"

static struct frames *frames;

static char *demangle(const char *name)
{
	return strcmp(name, "_Z4workv") ? NULL : strdup("work()");
}

static bool matches(const char *regex, uint32_t frame)
{
	struct filter *filter;
	bool first, second;

	must(filter_create(regex, &filter));
	check_string(filter_text(filter), regex, "text");
	first = filter_matches(filter, frames, frame);
	second = filter_matches(filter, frames, frame);
	check(first == second, "the same answer from memory");
	filter_destroy(filter);
	return first;
}

static void test_match(void)
{
	uint32_t f = frames_intern(frames, FRAME_KIND_USERLAND, "_Z4workv", "libWork.so", 1);

	check(matches("work\\(", f), "the demangled name matches");
	check(matches("^_Z4", f), "the raw name matches");
	check(matches("libwork", f), "module; without capitals upper and lower case are the same");
	check(matches("libWork", f), "capitals that are there");
	check(!matches("LibWork", f), "capitals that are not there");
	check(matches("nothing|so$", f), "extended regular expression");
	check(!matches("all", FRAME_ROOT), "the root never matches");
	check(matches("truncated", FRAME_TRUNCATED), "a mark can match");
}

static void test_bad(void)
{
	struct filter *filter = NULL;
	struct xtop_error *error = filter_create("a(b", &filter);

	check(error && strstr(error_message(error), "\"a(b\""), "says what is wrong: %s",
	      error_message(error));
	check(!filter, "the out-parameter is untouched");
	error_destroy(error);
}

/* With these, regcomp() itself would crash the process, or take seconds and gigabytes. */
static void test_greedy(void)
{
	static const struct {
		const char *regex;
		bool taken;
	} cases[] = {
		{ "a{1,255}{1,255}{1,255}", false },
		{ "((((((.*){1,9}){1,9}){1,9}){1,9}))", false },
		{ "(a|[]{}(]{1,30}b){100}", false },
		{ "([[:alpha:]]x\\{{1,30}){100}", false },
		{ "a{255}{0,}{5", false },
		{ "a{1,255}|b{255,}", true },
		{ "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", true },
		{ "[{9}{9}{9}{9}{9}{9}{9}]", true },
		{ "x\\{9\\}\\{9\\}\\{9\\}\\{9\\}\\{9\\}", true },
		{ "a{}{,}{x}", true },
	};
	char *deep = calloc(1, 200001), *wide = calloc(1, 20001);
	struct xtop_error *error;
	struct filter *filter;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		filter = NULL;
		error = filter_create(cases[i].regex, &filter);
		check((error && strstr(error_message(error), "repeats too much")) ==
			      !cases[i].taken,
		      "%s: %s", cases[i].regex, error ? error_message(error) : "taken");
		error_destroy(error);
		filter_destroy(filter);
	}
	memset(deep, '(', 100000);
	memset(deep + 100000, ')', 100000);
	error = filter_create(deep, &filter);
	check(error && strstr(error_message(error), "nested too deep"),
	      "100,000 groups in each other");
	error_destroy(error);
	for (size_t i = 0; i < 20000; i++)
		wide[i] = "name|"[i % 5];
	wide[19999] = '\0';
	error = filter_create(wide, &filter);
	check(!error, "4,000 names side by side are accepted");
	filter_destroy(filter);
	free(deep);
	free(wide);
}

/*
 *	             all    "g"       The same nodes at the same places. Stacks that do not match
 *	all         0/11    0/5       weigh nothing, subtrees of g weigh as before, and the sums
 *	 main       1/11    0/5       above them are new.
 *	  f          5/8    0/3
 *	   g         2/3    2/3
 *	    h        1/1    1/1
 *	  g          2/2    2/2
 */
static void test_nodes(void)
{
	static const char *const stacks[] = { "main 1",       "main;f 5", "main;f;g 2",
					      "main;f;g;h 1", "main;g 2", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct snapshot_node *copy, *kept = snapshot->nodes;
	const struct snapshot_node *nodes;
	struct filter *filter;
	char *tree;

	must(filter_nodes(NULL, snapshot, &copy, &nodes));
	check(!copy && nodes == snapshot->nodes, "without a filter nothing is copied");
	must(filter_create("^g$", &filter));
	must(filter_nodes(filter, snapshot, &copy, &nodes));
	snapshot->nodes = copy;
	tree = stacks_tree(snapshot);
	check_string(tree, "all 0/5\n main 0/5\n  f 0/3\n   g 2/3\n    h 1/1\n  g 2/2\n",
		     "the tree that a filter leaves");
	check(!stacks_broken(snapshot), "the filtered tree is sound");
	snapshot->nodes = kept;
	free(tree);
	free(copy);
	filter_destroy(filter);
	snapshot_destroy(snapshot);
}

/* Filters SNAPSHOT, which stays as it is. All that is left is what filter_weights() sums up. */
static void check_tree(const struct snapshot *snapshot, const char *regex, const char *tree)
{
	struct snapshot filtered = *snapshot;
	const struct snapshot_node *nodes;
	struct snapshot_node *copy;
	struct weights sum;
	struct filter *filter;
	char *text;

	must(filter_create(regex, &filter));
	must(filter_nodes(filter, snapshot, &copy, &nodes));
	filtered.nodes = copy;
	text = stacks_tree(&filtered);
	check_string(text, tree, regex);
	sum = filter_weights(filter, snapshot);
	check(sum.children_ticks == nodes[0].children_ticks &&
		      sum.children_live == nodes[0].children_live &&
		      sum.children_total == nodes[0].children_total,
	      "the sum over the same stacks");
	free(text);
	free(copy);
	filter_destroy(filter);
}

/* A control group is its processes' module: -e and \ find the stacks of all of them. */
static void test_cgroup(void)
{
	static const char *const grouped[] = { "@web@nginx.service;.main;write 6",
					       "@web@docker/3f2ab1c2d3e4;.main 3",
					       "@sh@nginx.service;.main 1", "idle;nginx 4", NULL };
	static const struct {
		const char *regex, *tree;
	} cases[] = {
		{ "^nginx\\.service$",
		  "all 0/7\n web 0/6\n  main 0/6\n   write 6/6\n web 0/0\n  main 0/0\n"
		  " sh 0/1\n  main 1/1\n idle 0/0\n  nginx 0/0\n" },
		{ "docker/3f2a",
		  "all 0/3\n web 0/0\n  main 0/0\n   write 0/0\n web 0/3\n  main 3/3\n"
		  " sh 0/0\n  main 0/0\n idle 0/0\n  nginx 0/0\n" },
	};
	struct snapshot *snapshot = stacks_snapshot(frames, grouped);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_tree(snapshot, cases[i].regex, cases[i].tree);
	snapshot_destroy(snapshot);
}

/* The memory of the filter grows with the table of names. */
static void test_many(void)
{
	struct filter *filter;
	unsigned n = 0;

	must(filter_create("7$", &filter));
	for (unsigned i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "many%u", i);
		n += filter_matches(filter, frames, stacks_frame(frames, name));
	}
	check_u64(n, 500, "names that the filter matches");
	filter_destroy(filter);
	filter_destroy(NULL);
}

static void test_weights(void)
{
	static const char *const stacks[] = { "a;f;f 4", "b;f 3", "c 2", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct filter *filter;

	must(filter_create("^f$", &filter));
	check_u64(filter_weights(filter, snapshot).children_total, 7,
		  "each matching stack counts once");
	filter_destroy(filter);
	snapshot_destroy(snapshot);
}

/*
 * Parts that exclude, and several parts. The stack "main;f" passes "!g" although the longer stacks
 * of its subtree do not.
 */
static void test_parts(void)
{
	static const char *const stacks[] = { "main 1",       "main;f 5", "main;f;g 2",
					      "main;f;g;h 1", "main;g 2", NULL };
	static const struct {
		const char *text, *tree;
	} cases[] = {
		{ "!^g$", "all 0/6\n main 1/6\n  f 5/5\n   g 0/0\n    h 0/0\n  g 0/0\n" },
		{ "^g$ && ^f$", "all 0/3\n main 0/3\n  f 0/3\n   g 2/3\n    h 1/1\n  g 0/0\n" },
		{ "^f$ && !^h$ && !x",
		  "all 0/7\n main 0/7\n  f 5/7\n   g 2/2\n    h 0/0\n  g 0/0\n" },
		{ "!main", "all 0/0\n main 0/0\n  f 0/0\n   g 0/0\n    h 0/0\n  g 0/0\n" },
		{ "!^f$ && !", "all 0/3\n main 1/3\n  f 0/0\n   g 0/0\n    h 0/0\n  g 2/2\n" },
	};
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_tree(snapshot, cases[i].text, cases[i].tree);
	snapshot_destroy(snapshot);
}

static void test_joined(void)
{
	static const char *const texts[] = { "a", "!b", "c" };
	char *joined = filter_join(texts, 3);
	struct xtop_error *error;
	struct filter *filter;

	check_string(joined, "a && !b && c", "several texts make one");
	check(!filter_join(texts, 0), "no texts make none");
	must(filter_create_search("!b && c", &filter));
	check(filter_matches_text(filter, "a !b && c") && !filter_matches_text(filter, "a"),
	      "a search takes all characters as they are");
	filter_destroy(filter);
	error = filter_create("a && b && c && d && e && f && g && h && i", &filter);
	check(error && strstr(error_message(error), "at most 8 parts"), "nine parts are refused");
	error_destroy(error);
	error = filter_create("a && b(", &filter);
	check(error && strstr(error_message(error), "\"b(\""), "the part that is wrong is named");
	error_destroy(error);
	free(joined);
}

int main(void)
{
	must(frames_create(demangle, &frames));
	test_match();
	test_cgroup();
	test_bad();
	test_greedy();
	test_nodes();
	test_many();
	test_weights();
	test_parts();
	test_joined();
	frames_destroy(frames);
	return tap_done();
}
