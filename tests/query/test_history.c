/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last ten minutes: moments as snapshots, evicted subtrees, shares, bounded memory.
 */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/history.h"

static struct frames *frames;

static struct snapshot *snapshot_at(struct profile *profile, uint64_t sequence, uint64_t time_ns)
{
	struct snapshot *snapshot;

	must(profile_copy(profile, time_ns, &snapshot));
	snapshot->sequence = sequence;
	return snapshot;
}

static void note(struct history *history, struct profile *profile, uint64_t sequence,
		 uint64_t time_ns)
{
	struct snapshot *snapshot = snapshot_at(profile, sequence, time_ns);

	history_add(history, snapshot);
	snapshot_destroy(snapshot);
}

static void test_moments(void)
{
	struct history *history;
	struct profile *profile;
	struct snapshot *before, *back;
	char *was, *is;

	must(history_create(&history));
	must(profile_create(4096, 0, frames, &profile));
	note(history, profile, 6, 0);
	check_u64(history_count(history), 0,
		  "no moment without a time, as before a recording begins");
	stacks_add(profile, frames, SECOND, "main;read;copy 6");
	stacks_add(profile, frames, SECOND, "main;read 3");
	before = snapshot_at(profile, 7, SECOND);
	history_add(history, before);
	note(history, profile, 8, SECOND + SECOND / 2);
	check_u64(history_count(history), 1, "a snapshot half a second later is left out");
	stacks_add(profile, frames, 2 * SECOND, "main;write 90");
	note(history, profile, 9, 2 * SECOND);
	note(history, profile, 10, 3 * SECOND);
	check_u64(history_count(history), 3, "one moment for each second");
	check_u64(history_age_ns(history, 0), 2 * SECOND, "age of the oldest");
	check_u64(history_find(history, 8), 1,
		  "the first moment with that sequence number or a later one");
	check_u64(history_find(history, 11), 3, "none");
	must(history_get(history, 0, &back));
	was = stacks_tree(before);
	is = stacks_tree(back);
	check_string(is, was, "the snapshot is the same again");
	check(!stacks_broken(back), "it is a tree");
	check_u64(back->sequence, 7, "and so are its counters");
	free(was);
	free(is);
	snapshot_destroy(before);
	snapshot_destroy(back);
	history_destroy(history);
	profile_destroy(profile);
}

static void test_shares(void)
{
	struct history *history;
	struct profile *profile;
	float percents[4];

	must(history_create(&history));
	must(profile_create(4096, 0, frames, &profile));
	stacks_add(profile, frames, SECOND, "main;read 10");
	note(history, profile, 1, SECOND);
	stacks_add(profile, frames, SECOND, "main;read 1");
	stacks_add(profile, frames, SECOND, "main;write 3");
	note(history, profile, 2, 2 * SECOND);
	stacks_add(profile, frames, SECOND, "main;write 3");
	note(history, profile, 3, 3 * SECOND);
	history_shares(history, 3, stacks_frame(frames, "read"), 4, percents);
	check(percents[0] < 0 && percents[1] == 100 && percents[2] == 25 && percents[3] == 0,
	      "of what came since: %g %g %g %g", percents[0], percents[1], percents[2],
	      percents[3]);
	history_shares(history, 2, stacks_frame(frames, "write"), 2, percents);
	check(percents[0] == 0 && percents[1] == 75, "up to an earlier moment: %g %g", percents[0],
	      percents[1]);
	profile_reset(profile);
	stacks_add(profile, frames, SECOND, "main;read 2");
	note(history, profile, 4, 4 * SECOND);
	history_shares(history, 4, stacks_frame(frames, "read"), 1, percents);
	check(percents[0] == 100, "after a reset all samples are new: %g", percents[0]);
	profile_reset(profile);
	stacks_add(profile, frames, 5 * SECOND, "main;read 1");
	stacks_add(profile, frames, 5 * SECOND, "main;write 3");
	note(history, profile, 5, 5 * SECOND);
	history_shares(history, 5, stacks_frame(frames, "read"), 1, percents);
	check(percents[0] == 25, "also if there are more than before the reset: %g", percents[0]);
	history_shares(history, 5, stacks_frame(frames, "write"), 1, percents);
	check(percents[0] == 75, "all of them: %g", percents[0]);
	history_destroy(history);
	profile_destroy(profile);
}

/*
 * Moments of 100,000 nodes, for longer than the history goes back: what stays, and its memory.
 */
static void test_large(void)
{
	enum { STACKS = 20000 };
	struct history *history;
	struct profile *profile;
	struct snapshot *snapshot, *back;
	size_t full = 0;
	char line[64];

	must(history_create(&history));
	must(profile_create(PROFILE_MAX_NODES, 0, frames, &profile));
	for (int i = 0; i < STACKS; i++) {
		snprintf(line, sizeof(line), "main;a%d;b%d;c%d;d%d 1", i % 10, i % 100, i % 1000,
			 i);
		stacks_add(profile, frames, SECOND, line);
	}
	stacks_add(profile, frames, SECOND, "main;hot;hotter 100000");
	snapshot = snapshot_at(profile, 1, SECOND);
	for (uint64_t i = 1; i <= HISTORY_MOMENTS + 100; i++) {
		snapshot->sequence = i;
		snapshot->time_ns = i * SECOND;
		history_add(history, snapshot);
		if (i == HISTORY_MOMENTS)
			full = history_memory_bytes(history);
	}
	check_u64(history_count(history), HISTORY_MOMENTS, "moments");
	check(history_memory_bytes(history) <= full,
	      "it does not grow when it goes round: %zu, %zu", history_memory_bytes(history), full);
	check(full < (40 << 20), "%.1f MiB", (double)full / 1048576);
	must(history_get(history, 0, &back));
	check_u64(back->sequence, 101, "the oldest moment");
	check(back->n_nodes <= HISTORY_MOMENT_NODES, "%zu of %zu nodes", back->n_nodes,
	      snapshot->n_nodes);
	check(!stacks_broken(back), "it is a tree: %s",
	      stacks_broken(back) ? stacks_broken(back) : "yes");
	check_u64(back->nodes[0].children_total, snapshot->nodes[0].children_total,
		  "nothing is lost");
	check(back->n_frames == snapshot->n_frames, "names");
	snapshot_destroy(back);
	snapshot_destroy(snapshot);
	history_destroy(history);
	profile_destroy(profile);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_moments();
	test_shares();
	test_large();
	frames_destroy(frames);
	return tap_done();
}
