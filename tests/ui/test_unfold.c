/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of callers, without a screen: shares, what is left over, and a guest that makes a fork
 * very wide.
 */
#include "config.h"

#include "ui/unfold.h"

#include <stdlib.h>
#include <time.h>

#include "../tap.h"
#include "xtop/profile.h"

#define MANY_CALLERS 100000
#define MANY_MAX_S                                                                                 \
	5 /* of CPU; takes some 6 ms, and 8 s when each caller is looked for among the others */

static struct frames *frames;
static struct profile *profile;

static uint32_t named(const char *name)
{
	return frames_intern(frames, FRAME_KIND_KERNEL, name, "[kernel]", 0);
}

static void add(const char *caller, const char *function, uint32_t count)
{
	const uint32_t stack[] = { named(caller), named(function) };

	profile_add(profile, stack, 2, 1, count);
}

static struct snapshot *open_snapshot(void)
{
	struct snapshot *snapshot;

	if (profile_copy(profile, 1, &snapshot))
		abort();
	return snapshot;
}

static void create(void)
{
	if (frames_create(NULL, &frames) || profile_create(PROFILE_MAX_NODES, 0, frames, &profile))
		abort();
}

static void destroy(void)
{
	profile_destroy(profile);
	frames_destroy(frames);
}

/*
 *	f  ├─ 70.0 a
 *	   ├─ 29.8 b
 *	   └─  0.2 1 more
 */
static void test_shares(void)
{
	struct ui_model model = { .totals = true };
	struct unfolding unfolding;
	struct snapshot *snapshot;

	create();
	add("a", "f", 700);
	add("b", "f", 298);
	add("c", "f", 2);
	add("a", "g", 5000);
	model.snapshot = snapshot = open_snapshot();
	if (unfold_build(&model, snapshot->nodes, named("f"), &unfolding))
		abort();
	check_u64(unfolding.n, 3, "lines");
	check(unfolding.lines[0].frame == named("a") && unfolding.lines[0].percent == 70,
	      "a has 70 %%");
	check(unfolding.lines[1].frame == named("b") && unfolding.lines[1].percent == 29.8,
	      "b has 29.8 %%");
	check(unfolding.lines[2].frame == FRAME_NONE && unfolding.lines[2].more == 1, "one more");
	unfold_free(&unfolding);
	snapshot_destroy(snapshot);
	destroy();
}

/* Frame pointers are the guest's to write: each of its functions may seem to call the same one. */
static void test_many_callers(void)
{
	struct ui_model model = { .totals = true };
	struct unfolding unfolding;
	struct snapshot *snapshot;
	char name[32];
	clock_t begin;
	double took_s;

	create();
	for (unsigned i = 0; i < MANY_CALLERS; i++) {
		snprintf(name, sizeof(name), "caller_%u", i);
		add(name, "f", 1);
	}
	add("hot", "f", MANY_CALLERS);
	model.snapshot = snapshot = open_snapshot();
	begin = clock();
	if (unfold_build(&model, snapshot->nodes, named("f"), &unfolding))
		abort();
	took_s = (double)(clock() - begin) / CLOCKS_PER_SEC;
	check(took_s < MANY_MAX_S, "%u callers in %.3f s", MANY_CALLERS, took_s);
	check(unfolding.n == 2 && unfolding.lines[0].frame == named("hot") &&
		      unfolding.lines[0].percent == 50,
	      "the hot one first, with 50 %%");
	check_u64(unfolding.lines[1].more, MANY_CALLERS, "the others in one line");
	unfold_free(&unfolding);
	snapshot_destroy(snapshot);
	destroy();
}

int main(void)
{
	test_shares();
	test_many_callers();
	return tap_done();
}
