/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decaying call tree: folding, decay, totals, eviction, and the order of its snapshots. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include <math.h>

static struct frames *frames;

static struct snapshot *copy(struct profile *profile, uint64_t time_ns)
{
	struct snapshot *snapshot;
	const char *broken;

	must(profile_copy(profile, time_ns, &snapshot));
	broken = stacks_broken(snapshot);
	check(!broken, "snapshot of %zu nodes is sound: %s", snapshot->n_nodes,
	      broken ? broken : "yes");
	return snapshot;
}

static uint64_t evicted(struct profile *profile)
{
	struct snapshot *snapshot;
	uint64_t n;

	must(profile_copy(profile, 0, &snapshot));
	n = snapshot->resolver.evicted_nodes;
	snapshot_destroy(snapshot);
	return n;
}

static void check_tree(struct profile *profile, const char *expected, const char *what)
{
	struct snapshot *snapshot = copy(profile, 0);
	char *tree = stacks_tree(snapshot);

	check_string(tree, expected, what);
	free(tree);
	snapshot_destroy(snapshot);
}

static double live_of(const struct snapshot *snapshot, const char *name)
{
	for (size_t i = 0; i < snapshot->n_nodes; i++)
		if (!strcmp(frames_get(frames, snapshot->nodes[i].frame)->name, name))
			return snapshot->nodes[i].self_live;
	return NAN;
}

/*
 *	main 0/10          Equal stacks are one. Siblings stand in the order in which they came,
 *	├─ f 4/7           each followed by its whole subtree, however their stacks were mixed.
 *	│  └─ g 3/3
 *	└─ h 1/3           self / children
 *	   └─ f 2/2
 *	idle 5/5
 */
static void test_fold(void)
{
	struct profile *profile;

	must(profile_create(100, HALF_LIFE, frames, &profile));
	stacks_add(profile, frames, 1, "main;f 1");
	stacks_add(profile, frames, 1, "main;h;f 2");
	stacks_add(profile, frames, 1, "idle 5");
	stacks_add(profile, frames, 1, "main;f;g 3");
	stacks_add(profile, frames, 1, "main;f 3");
	stacks_add(profile, frames, 1, "main;h 1");
	check_u64(profile_nodes(profile), 7, "nodes of stacks that share their beginnings");
	check_tree(profile,
		   "all 0/15\n main 0/10\n  f 4/7\n   g 3/3\n  h 1/3\n   f 2/2\n idle 5/5\n",
		   "fold");
	stacks_add(profile, frames, 1, "main 0");
	check_u64(profile_nodes(profile), 7, "no samples, no nodes");
	profile_reset(profile);
	check_tree(profile, "all 0/0\n", "reset");
	stacks_add(profile, frames, 1, "main;f 1");
	profile_add(profile, NULL, 0, 1, 2, 2);
	check_tree(profile, "all 0/3\n main 0/1\n  f 1/1\n [unknown] 2/2\n",
		   "after reset; an empty stack");
	profile_destroy(profile);
}

/*
 *	time, half-lives   0    1    2    3       samples: f 8 at 0, g 4 at 1
 *	f                  8    4    2    1
 *	g                       4    2    1
 *	all                8    8    4    2
 *	total              8   12   12   12
 */
static void test_half_life(void)
{
	static const double f[] = { 8, 4, 2, 1 }, g[] = { 0, 4, 2, 1 };
	struct profile *profile;
	struct snapshot *last;

	must(profile_create(100, HALF_LIFE, frames, &profile));
	stacks_add(profile, frames, 7 * HALF_LIFE, "f 8");
	for (unsigned i = 0; i < 4; i++) {
		struct snapshot *snapshot;

		if (i == 1)
			stacks_add(profile, frames, 8 * HALF_LIFE, "g 4");
		snapshot = copy(profile, (7 + i) * HALF_LIFE);
		check(live_of(snapshot, "f") == f[i], "f after %u half-lives: %g", i,
		      live_of(snapshot, "f"));
		check(!i || live_of(snapshot, "g") == g[i], "g after %u half-lives: %g", i,
		      live_of(snapshot, "g"));
		check(snapshot->live_weight == f[i] + g[i], "all: %g", snapshot->live_weight);
		check_u64(snapshot->total_weight, i ? 12 : 8, "weight that does not decay");
		check_u64(snapshot->started_ns, 7 * HALF_LIFE, "time of the first stack");
		snapshot_destroy(snapshot);
	}
	stacks_add(profile, frames, 1, "f 1"); /* time does not go back */
	last = copy(profile, 0);
	check(live_of(last, "f") == 2, "a late sample counts as if it came now");
	snapshot_destroy(last);
	profile_destroy(profile);
}

/* A plain model that halves all weights at each step gives the same, over some 3000 half-lives. */
static void test_lazy_is_eager(void)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	double eager[4] = { 0 }, worst = 0;
	struct profile *profile;
	uint64_t time_ns = 12345;
	char line[8];

	srand(1);
	must(profile_create(100, HALF_LIFE, frames, &profile));
	for (unsigned i = 0; i < 4; i++) {
		snprintf(line, sizeof(line), "%s 1", names[i]);
		stacks_add(profile, frames, time_ns, line);
		eager[i] = 1;
	}
	for (unsigned step = 0; step < 2000; step++) {
		uint64_t pause = rand() % 100 ? rand() % (2 * HALF_LIFE) : rand() % 600 * HALF_LIFE;
		unsigned which = rand() % 4;
		struct snapshot *snapshot;

		time_ns += pause;
		for (unsigned i = 0; i < 4; i++)
			eager[i] *= exp2(-(double)pause / HALF_LIFE);
		eager[which] += 1;
		snprintf(line, sizeof(line), "%s 1", names[which]);
		stacks_add(profile, frames, time_ns, line);
		must(profile_copy(profile, time_ns, &snapshot));
		for (unsigned i = 0; i < 4; i++)
			worst = fmax(worst, fabs(live_of(snapshot, names[i]) - eager[i]) /
						    fmax(eager[i], 1e-300));
		snapshot_destroy(snapshot);
	}
	check(worst < 1e-9, "lazy against eager over %g half-lives: %g",
	      (double)time_ns / HALF_LIFE, worst);
	profile_destroy(profile);
}

static void test_no_decay(void)
{
	struct profile *profile;
	struct snapshot *snapshot;

	must(profile_create(100, 0, frames, &profile));
	stacks_add(profile, frames, 1, "f 3");
	stacks_add(profile, frames, 1000 * HALF_LIFE, "f 4");
	snapshot = copy(profile, 9000 * HALF_LIFE);
	check(live_of(snapshot, "f") == 7, "half-life 0 means no decay");
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/*
 * 16 nodes: all, and 15 leaves of weights 1 .. 15. The 16th leaf and [evicted] need room, so two
 * nodes must go: the lightest, 1 and 2.
 */
static void test_evict_lightest(void)
{
	struct profile *profile;
	struct snapshot *snapshot;
	char line[16];

	must(profile_create(16, HALF_LIFE, frames, &profile));
	for (unsigned i = 1; i <= 15; i++) {
		snprintf(line, sizeof(line), "leaf%u %u", i * 7 % 16, i * 7 % 16);
		stacks_add(profile, frames, i, line);
	}
	check_u64(evicted(profile), 0, "nodes up to the limit are not evicted");
	stacks_add(profile, frames, 16, "leaf16 16");
	snapshot = copy(profile, 16);
	check(isnan(live_of(snapshot, "leaf1")) && isnan(live_of(snapshot, "leaf2")),
	      "the lightest nodes are evicted");
	for (unsigned i = 3; i <= 16; i++) {
		snprintf(line, sizeof(line), "leaf%u", i);
		check(!isnan(live_of(snapshot, line)), "%s is there", line);
	}
	check(fabs(live_of(snapshot, "[evicted]") - 3) < 1e-6, "[evicted] %g",
	      live_of(snapshot, "[evicted]"));
	check_u64(snapshot->total_weight, 136, "weight after an eviction");
	check_u64(snapshot->resolver.evicted_nodes, 2, "nodes that the snapshot counts as evicted");
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/*
 * Live weight decides, not the total: "old" was sampled often, but long ago. A chain is evicted
 * from its leaf up, as far as room is needed:
 *
 *	all ─┬─ old 100 (20 half-lives ago)
 *	     ├─ a 0 ── b 0 ── c 1
 *	     └─ h 9 ── i1 9, i2 9, ... i6 9
 *
 * 12 of 16 nodes are used. Five more and [evicted] need two nodes: old, by now 0.0001, and c.
 */
static void test_evict_old_chain(void)
{
	struct profile *profile;
	char line[16];

	must(profile_create(16, HALF_LIFE, frames, &profile));
	stacks_add(profile, frames, 1, "old 100");
	stacks_add(profile, frames, 20 * HALF_LIFE, "a;b;c 1");
	for (unsigned i = 0; i < 7; i++) {
		snprintf(line, sizeof(line), i ? "h;i%u 9" : "h 9", i);
		stacks_add(profile, frames, 20 * HALF_LIFE, line);
	}
	check_u64(profile_nodes(profile), 12, "nodes before the eviction");
	stacks_add(profile, frames, 20 * HALF_LIFE, "x;y;z;u;v 9");
	check_u64(evicted(profile), 2, "only as many nodes as needed are evicted");
	check_tree(profile,
		   "all 0/173\n a 0/0\n  b 0/0\n h 9/63\n"
		   "  i1 9/9\n  i2 9/9\n  i3 9/9\n  i4 9/9\n  i5 9/9\n  i6 9/9\n"
		   " [evicted] 101/101\n x 0/9\n  y 0/9\n   z 0/9\n    u 0/9\n     v 9/9\n",
		   "old and the leaf of the light chain are evicted");
	profile_destroy(profile);
}

/* Trees of all shapes stay bounded and whole, and no sample is lost. */
static void test_evict_random(size_t max_nodes, uint64_t half_life_ns, unsigned fan, unsigned depth)
{
	struct profile *profile;
	uint64_t total = 0;
	bool bounded = true, whole = true;
	uint32_t stack[600], names[64];
	char name[16];

	for (unsigned i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "name%u", i);
		names[i] = stacks_frame(frames, name);
	}
	srand(2);
	must(profile_create(max_nodes, half_life_ns, frames, &profile));
	for (unsigned round = 0; round < 3000; round++) {
		unsigned n = 1 + rand() % depth, count = 1 + rand() % 3;
		struct snapshot *snapshot;

		for (unsigned i = 0; i < n; i++)
			stack[i] = names[rand() % fan];
		profile_add(profile, stack, n, round * SECOND, count, count);
		total += count;
		bounded = bounded && profile_nodes(profile) <= max_nodes;
		if (round % 50)
			continue;
		must(profile_copy(profile, round * SECOND, &snapshot));
		whole = whole && !stacks_broken(snapshot) && snapshot->total_weight == total;
		snapshot_destroy(snapshot);
	}
	check(bounded && whole,
	      "%zu nodes, fan %u, depth %u: bounded %d, whole %d, %" PRIu64 " evicted", max_nodes,
	      fan, depth, bounded, whole, evicted(profile));
	check(evicted(profile) > 0, "evicted nodes are counted");
	profile_destroy(profile);
}

/* The table grows from its first size to a million nodes. */
static void test_million(void)
{
	struct profile *profile;
	uint32_t stack[3];

	must(profile_create(PROFILE_MAX_NODES, HALF_LIFE, frames, &profile));
	for (uint32_t i = 0; profile_nodes(profile) < PROFILE_MAX_NODES - 2; i++) {
		stack[0] = i % 100;
		stack[1] = i / 100 % 100;
		stack[2] = i / 10000;
		profile_add(profile, stack, 3, i, 1, 1);
	}
	check(profile_memory_bytes(profile) <= 64 << 20, "%zu nodes in %zu bytes",
	      profile_nodes(profile), profile_memory_bytes(profile));
	check_u64(evicted(profile), 0, "nodes that are evicted below the limit");
	profile_destroy(profile);
}

/* A stack that is too deep keeps both ends, with a mark between, and its sample still counts. */
static void test_depth(void)
{
	struct profile *profile;
	struct snapshot *snapshot;
	uint32_t stack[SNAPSHOT_MAX_DEPTH + 100];

	for (unsigned i = 0; i < SNAPSHOT_MAX_DEPTH + 100; i++)
		stack[i] = FRAME_UNKNOWN;
	stack[0] = stack[SNAPSHOT_MAX_DEPTH + 99] = FRAME_EVICTED;
	must(profile_create(16384, HALF_LIFE, frames, &profile));
	profile_add(profile, stack, SNAPSHOT_MAX_DEPTH + 100, 1, 1, 1);
	snapshot = copy(profile, 1);
	check_u64(snapshot->n_nodes, SNAPSHOT_MAX_DEPTH + 1, "nodes of a stack that is too deep");
	check_u64(snapshot->nodes[SNAPSHOT_MAX_DEPTH].self_total, 1, "weight of the last");
	check_u64(snapshot->nodes[1].frame, FRAME_EVICTED, "the outermost is there");
	check_u64(snapshot->nodes[SNAPSHOT_MAX_DEPTH].frame, FRAME_EVICTED, "the innermost, too");
	check_u64(snapshot->nodes[SNAPSHOT_MAX_DEPTH / 2 + 1].frame, FRAME_TRUNCATED,
		  "a mark stands for the others");
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* The name of a frame "u..." was unknown, and is now what follows the u. */
static uint32_t rename_u(void *context, uint32_t id)
{
	const struct frame *frame = frames_get(frames, id);

	(void)context;
	if (frame->name[0] != 'u')
		return id;
	return frames_intern(frames, frame->kind, frame->name + 1, frame->module, frame->address);
}

/*
 *	main 0/15          before: main;uf 4, main;uf;g 2, main;f;g 3, main;f;uh 1, main;f;h 5
 *	└─ f 4/15
 *	   ├─ g 5/5
 *	   └─ h 6/6
 */
static void test_rename(void)
{
	struct profile *profile;

	must(profile_create(100, HALF_LIFE, frames, &profile));
	stacks_add(profile, frames, 1, "main;uf 4");
	stacks_add(profile, frames, 1, "main;uf;g 2");
	stacks_add(profile, frames, 1, "main;f;g 3");
	stacks_add(profile, frames, 1, "main;f;uh 1");
	stacks_add(profile, frames, 1, "main;f;h 5");
	profile_rename(profile, rename_u, NULL);
	check_tree(profile, "all 0/15\n main 0/15\n  f 4/15\n   g 5/5\n   h 6/6\n",
		   "stacks that became equal are merged");
	stacks_add(profile, frames, 1, "main;f;h 1");
	check_u64(profile_nodes(profile), 5, "nodes, root included: the next sample finds its own");
	profile_destroy(profile);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_fold();
	test_rename();
	test_half_life();
	test_lazy_is_eager();
	test_no_decay();
	test_evict_lightest();
	test_evict_old_chain();
	test_evict_random(16, HALF_LIFE, 8, 4);
	test_evict_random(16, HALF_LIFE, 8, 64);
	test_evict_random(100, 0, 3, 600);
	test_evict_random(1000, HALF_LIFE, 64, 20);
	test_evict_random(5000, SECOND, 64, 600);
	test_million();
	test_depth();
	frames_destroy(frames);
	return tap_done();
}
