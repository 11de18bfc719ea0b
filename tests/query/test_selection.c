/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of a snapshot: which nodes stay, their weights, and that the result is sound. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/query/selection.h"

static struct frames *frames;

static const char *const stacks[] = { "@web;.main;.send;write;copy 6",
				      "@web;.main;.parse 3",
				      "@web;.main;.send;write 1",
				      "@sh;.main;write;copy 2",
				      "idle 4",
				      NULL };

static void check_selection(struct selection selection, const char *expected, const char *what)
{
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct snapshot selected;
	const char *broken;
	char *text;

	must(selection_apply(&selection, snapshot, &selected));
	broken = stacks_broken(&selected);
	check(!broken, "%s is sound: %s", what, broken ? broken : "yes");
	check(selected.total_weight == selected.nodes[0].children_total,
	      "the total weight is the root's");
	text = stacks_tree(&selected);
	check_string(text, expected, what);
	free(text);
	selection_deinit(&selected, snapshot);
	snapshot_destroy(snapshot);
}

/* One control group of several. */
static void test_cgroup(void)
{
	static const char *const grouped[] = { "@web@a.service;.main;write 6",
					       "@web@b.service;.main 3", "@sh@a.service;.main 1",
					       "idle 4", NULL };
	struct selection selection = { .process = FRAME_NONE, .cgroup = "a.service" };
	struct snapshot *snapshot = stacks_snapshot(frames, grouped);
	struct snapshot selected;
	char *text;

	check(!selection_is_all(&selection), "a selection of a control group is not all");
	must(selection_apply(&selection, snapshot, &selected));
	text = stacks_tree(&selected);
	check_string(text,
		     "all 0/7\n web 0/6\n  main 0/6\n   write 6/6\n web 0/0\n  main 0/0\n"
		     " sh 0/1\n  main 1/1\n idle 0/0\n",
		     "a control group has all its processes and no others");
	free(text);
	selection_deinit(&selected, snapshot);
	snapshot_destroy(snapshot);
}

static void test_all(void)
{
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct selection all = { .process = FRAME_NONE };
	struct snapshot selected;

	check(selection_is_all(&all), "nothing is left out");
	must(selection_apply(&all, snapshot, &selected));
	check(selected.nodes == snapshot->nodes, "an empty selection copies nothing");
	selection_deinit(&selected, snapshot);
	snapshot_destroy(snapshot);
}

static void test_stacks(void)
{
	struct filter *filter;

	check_selection((struct selection){ .process = stacks_frame(frames, "@web") },
			"all 0/10\n"
			" web 0/10\n"
			"  main 0/10\n"
			"   send 0/7\n"
			"    write 1/7\n"
			"     copy 6/6\n"
			"   parse 3/3\n"
			" sh 0/0\n"
			"  main 0/0\n"
			"   write 0/0\n"
			"    copy 0/0\n"
			" idle 0/0\n",
			"one process");
	check_selection((struct selection){ .process = FRAME_NONE, .cgroup = "" },
			"all 0/12\n"
			" web 0/10\n"
			"  main 0/10\n"
			"   send 0/7\n"
			"    write 1/7\n"
			"     copy 6/6\n"
			"   parse 3/3\n"
			" sh 0/2\n"
			"  main 0/2\n"
			"   write 0/2\n"
			"    copy 2/2\n"
			" idle 0/0\n",
			"processes of no control group");
	must(filter_create("copy", &filter));
	check_selection((struct selection){ .process = stacks_frame(frames, "@web"),
					    .filter = filter,
					    .module = "prog" },
			"all 0/6\n"
			" web 0/6\n"
			"  main 0/6\n"
			"   send 0/6\n"
			"    write 0/6\n"
			"     copy 6/6\n"
			"   parse 0/0\n"
			" sh 0/0\n"
			"  main 0/0\n"
			"   write 0/0\n"
			"    copy 0/0\n"
			" idle 0/0\n",
			"all conditions together");
	filter_destroy(filter);
	check_selection((struct selection){ .process = FRAME_NONE, .module = "nothing.so" },
			"all 0/0\n"
			" web 0/0\n"
			"  main 0/0\n"
			"   send 0/0\n"
			"    write 0/0\n"
			"     copy 0/0\n"
			"   parse 0/0\n"
			" sh 0/0\n"
			"  main 0/0\n"
			"   write 0/0\n"
			"    copy 0/0\n"
			" idle 0/0\n",
			"nothing");
}

/* The weight of a hidden function goes to its caller. */
static void test_hidden(void)
{
	check_selection((struct selection){ .process = FRAME_NONE, .hide_kernel = true },
			"all 4/16\n"
			" web 0/10\n"
			"  main 0/10\n"
			"   send 7/7\n"
			"   parse 3/3\n"
			" sh 0/2\n"
			"  main 2/2\n",
			"kernel functions are hidden");
	check_selection((struct selection){ .process = FRAME_NONE, .hide_user = true },
			"all 0/16\n"
			" web 3/10\n"
			"  write 1/7\n"
			"   copy 6/6\n"
			" sh 0/2\n"
			"  write 0/2\n"
			"   copy 2/2\n"
			" idle 4/4\n",
			"user functions are hidden");
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_all();
	test_cgroup();
	test_stacks();
	test_hidden();
	frames_destroy(frames);
	return tap_done();
}
