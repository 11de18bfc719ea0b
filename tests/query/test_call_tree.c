/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call tree as lines, without a screen: merged functions, straight lines, the rest below the
 * threshold, open and closed lines; and guests that make the tree very wide or very deep.
 */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include <time.h>

#include "xtop/query/call_tree.h"

#define MANY_CALLERS 100000
#define MANY_MAX_S   5 /* CPU time: takes some 10 ms; took 8 s when callers were found in a list */

static struct frames *frames;

/*
 * The tree as text, one line for each line: forks as "  ", "=" if straight, "+" if closed, name,
 * self and children in totals; "* 2 more" for the branches below the threshold.
 */
static char *tree_text(const struct call_tree *tree)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 0; i < tree->n; i++) {
		const struct call_tree_line *line = &tree->lines[i];

		fprintf(file, "%*s%s", 2 * (int)line->forks, "", line->straight ? "= " : "");
		if (line->has_branches && !line->open)
			fputs("+ ", file);
		if (line->frame == FRAME_NONE)
			fprintf(file, "* %zu more", line->more);
		else
			fputs(frames_get(frames, line->frame)->name, file);
		fprintf(file, " %" PRIu64 "/%" PRIu64 "\n", line->weights.self_total,
			line->weights.children_total);
	}
	fclose(file);
	return text;
}

static void check_tree(const char *const *stacks, struct call_tree_settings settings,
		       const char *expected, const char *what)
{
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct call_tree tree;
	char *text;

	settings.totals = true;
	if (!settings.max_lines)
		settings.max_lines = 100;
	if (!settings.max_forks)
		settings.max_forks = CALL_TREE_MAX_FORKS;
	must(call_tree_build(snapshot, &settings, &tree));
	text = tree_text(&tree);
	check_string(text, expected, what);
	free(text);
	call_tree_deinit(&tree);
	snapshot_destroy(snapshot);
}

static const char *const usual[] = {
	"@web;main;read;copy 60", "@web;main;read 10", "@web;main;write;copy 25",
	"@sh;main;loop 4",        "@sh;main 1",        NULL
};

static void test_down(void)
{
	check_tree(usual, (struct call_tree_settings){ .kind = CALL_TREE_DOWN },
		   "  web 0/95\n"
		   "  = main 0/95\n"
		   "    read 10/70\n"
		   "      copy 60/60\n"
		   "    write 0/25\n"
		   "    = copy 25/25\n"
		   "  sh 0/5\n"
		   "  = main 1/5\n"
		   "    loop 4/4\n",
		   "from the outermost inwards");
}

static void test_inverted(void)
{
	check_tree(usual, (struct call_tree_settings){ .kind = CALL_TREE_INVERTED },
		   "  copy 0/85\n"
		   "    read 0/60\n"
		   "    = main 0/60\n"
		   "    = web 0/60\n"
		   "    write 0/25\n"
		   "    = main 0/25\n"
		   "    = web 0/25\n"
		   "  read 0/10\n"
		   "  = main 0/10\n"
		   "  = web 0/10\n"
		   "  loop 0/4\n"
		   "  = main 0/4\n"
		   "  = sh 0/4\n"
		   "  main 0/1\n"
		   "  = sh 0/1\n",
		   "from the innermost outwards");
}

/* f;f;g and f;g: each stack counts once, from its outermost f. */
static void test_callers(void)
{
	static const char *const stacks[] = { "a;f;f;g 700", "b;f;g 298", "c;f 2", "a;g 5000",
					      NULL };

	check_tree(stacks,
		   (struct call_tree_settings){ .kind = CALL_TREE_CALLERS,
						.frame = stacks_frame(frames, "f"),
						.threshold = 0.005 },
		   "  a 0/700\n"
		   "  b 0/298\n"
		   "  * 1 more 0/2\n",
		   "who calls f");
}

static void test_folds(void)
{
	struct snapshot *snapshot = stacks_snapshot(frames, usual);
	struct call_tree_folds *folds = calloc(1, sizeof(*folds));
	struct call_tree_settings settings = { .kind = CALL_TREE_DOWN, .folds = folds };
	struct call_tree tree;

	check_tree(usual, settings, "  + web 0/95\n  + sh 0/5\n", "all lines are closed");
	settings.totals = true;
	settings.max_lines = 10;
	settings.max_forks = 10;
	must(call_tree_build(snapshot, &settings, &tree));
	call_tree_set_open(folds, tree.lines[0].key, true);
	call_tree_deinit(&tree);
	check_tree(usual, settings,
		   "  web 0/95\n"
		   "  = main 0/95\n"
		   "    + read 10/70\n"
		   "    + write 0/25\n"
		   "  + sh 0/5\n",
		   "a straight line opens with the line above");
	call_tree_set_all(folds, true);
	must(call_tree_build(snapshot, &settings, &tree));
	call_tree_set_open(folds, tree.lines[1].key, false);
	call_tree_deinit(&tree);
	check_tree(usual, settings,
		   "  web 0/95\n"
		   "  = + main 0/95\n"
		   "  sh 0/5\n"
		   "  = main 1/5\n"
		   "    loop 4/4\n",
		   "one line can be closed, also a straight one");
	for (uint64_t key = 2; key <= 2 * CALL_TREE_MAX_FOLDS; key += 2)
		call_tree_set_open(folds, key, true);
	check(folds->n == CALL_TREE_MAX_FOLDS && !call_tree_set_open(folds, 1 << 30, true),
	      "the number of open lines is bounded");
	free(folds);
	snapshot_destroy(snapshot);
}

static void test_bounds(void)
{
	check_tree(usual, (struct call_tree_settings){ .kind = CALL_TREE_DOWN, .max_lines = 3 },
		   "  web 0/95\n  = main 0/95\n    read 10/70\n", "three lines");
	check_tree(usual, (struct call_tree_settings){ .kind = CALL_TREE_DOWN, .max_forks = 1 },
		   "  web 0/95\n  = main 0/95\n  sh 0/5\n  = main 1/5\n", "one fork");
}

/* A guest writes its own frame pointers: all its functions may seem to call the same one. */
static void test_wide(void)
{
	struct call_tree_settings settings = { .kind = CALL_TREE_CALLERS,
					       .totals = true,
					       .threshold = 0.005,
					       .max_lines = 64,
					       .max_forks = 12 };
	struct profile *profile;
	struct snapshot *snapshot;
	struct call_tree tree;
	char name[32];
	clock_t begin;
	double took_s;

	must(profile_create(PROFILE_MAX_NODES, HALF_LIFE, frames, &profile));
	for (unsigned i = 0; i < MANY_CALLERS; i++) {
		snprintf(name, sizeof(name), "caller_%u;f 1", i);
		stacks_add(profile, frames, 1, name);
	}
	snprintf(name, sizeof(name), "hot;f %d", MANY_CALLERS);
	stacks_add(profile, frames, 1, name);
	must(profile_copy(profile, 1, &snapshot));
	settings.frame = stacks_frame(frames, "f");
	begin = clock();
	must(call_tree_build(snapshot, &settings, &tree));
	took_s = (double)(clock() - begin) / CLOCKS_PER_SEC;
	check(took_s < MANY_MAX_S, "%u callers in %.3f s", MANY_CALLERS, took_s);
	check(tree.n == 2 && tree.lines[0].frame == stacks_frame(frames, "hot") &&
		      tree.lines[0].weights.children_total == MANY_CALLERS,
	      "the hottest branch comes first, with half");
	check_u64(tree.lines[1].more, MANY_CALLERS, "all other branches are in one line");
	call_tree_deinit(&tree);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* The deepest stacks there can be, with a fork at each function. */
static void test_deep(void)
{
	struct call_tree_settings settings = { .kind = CALL_TREE_DOWN,
					       .totals = true,
					       .max_lines = CALL_TREE_MAX_LINES,
					       .max_forks = CALL_TREE_MAX_FORKS };
	struct snapshot *snapshot;
	struct call_tree tree;

	snapshot = stacks_deepest(frames);
	must(call_tree_build(snapshot, &settings, &tree));
	check(tree.n > CALL_TREE_MAX_FORKS && tree.n <= CALL_TREE_MAX_LINES, "%zu lines", tree.n);
	call_tree_deinit(&tree);
	snapshot_destroy(snapshot);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_down();
	test_inverted();
	test_callers();
	test_folds();
	test_bounds();
	test_wide();
	test_deep();
	frames_destroy(frames);
	return tap_done();
}
