/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last ten minutes: moments as snapshots, evicted subtrees, shares, bounded memory.
 */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "query/history_locks.h"
#include "xtop/os/os_waits.h"
#include "xtop/query/history.h"
#include "xtop/query/locks.h"

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

	snapshot->worth_live.samples = 1174;
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
	check_u64(history_find(history, 11), 3, "moment of a sequence number that is to come");
	must(history_get(history, 0, &back));
	was = stacks_tree(before);
	is = stacks_tree(back);
	check_string(is, was, "the snapshot is the same again");
	check(!stacks_broken(back), "a moment is a tree");
	check_u64(back->sequence, 7, "a moment has its counters");
	free(was);
	free(is);
	snapshot_destroy(before);
	snapshot_destroy(back);
	history_destroy(history);
	profile_destroy(profile);
}

/*
 * What came between two moments, with weights, over a reset, and while frames got better names and
 * paths were dropped: then the sum is still right.
 */
static void check_range(const struct history *history, size_t first, size_t last,
			const char *expected, const char *what)
{
	struct snapshot *range;
	const char *broken;
	char *text;

	must(history_get_range(history, first, last, &range));
	broken = stacks_broken(range);
	check(!broken, "%s is a tree: %s", what, broken ? broken : "yes");
	text = stacks_tree(range);
	check_string(text, expected, what);
	check(range->total_weight == range->live_weight &&
		      range->total_weight == (double)range->nodes[0].children_total,
	      "%s: %g ticks", what, range->total_weight);
	check(!(range->worth_live.samples > 0), "%s: what its samples are worth is not known: %g",
	      what, range->worth_live.samples);
	free(text);
	snapshot_destroy(range);
}

static uint32_t better_name(void *context, uint32_t frame)
{
	return frame == stacks_frame(frames, "?10") ? *(uint32_t *)context : frame;
}

static void test_range(void)
{
	struct history *history;
	struct profile *profile;
	uint32_t better = stacks_frame(frames, "found");

	must(history_create(&history));
	must(profile_create(4096, HALF_LIFE, frames, &profile));
	stacks_add(profile, frames, SECOND, "main;read;copy 1000");
	stacks_add(profile, frames, SECOND, "main;?10 500");
	note(history, profile, 1, SECOND);
	stacks_add(profile, frames, 2 * SECOND, "main;read;copy 3");
	stacks_add(profile, frames, 2 * SECOND, "main;write 2");
	note(history, profile, 2, 2 * SECOND);
	note(history, profile, 3, 3 * SECOND);
	stacks_add(profile, frames, 4 * SECOND, "main;write 5");
	stacks_add(profile, frames, 4 * SECOND, "main;parse 1");
	note(history, profile, 4, 4 * SECOND);
	check_range(history, 0, 1, "all 0/5\n main 0/5\n  read 0/3\n   copy 3/3\n  write 2/2\n",
		    "one second");
	check_range(history, 1, 2, "all 0/0\n", "a second without samples");
	check_range(history, 1, 3, "all 0/6\n main 0/6\n  write 5/5\n  parse 1/1\n",
		    "two seconds");
	check_range(history, 0, 3,
		    "all 0/11\n main 0/11\n  read 0/3\n   copy 3/3\n  write 7/7\n  parse 1/1\n",
		    "all");
	profile_rename(profile, better_name, &better);
	stacks_add(profile, frames, 5 * SECOND, "main;write 10");
	stacks_add(profile, frames, 5 * SECOND, "main;found 4");
	note(history, profile, 5, 5 * SECOND);
	check_range(history, 3, 4, "all 0/14\n main 0/14\n  found 4/4\n  write 10/10\n",
		    "a name was found for 500 old samples");
	profile_reset(profile);
	stacks_add(profile, frames, 6 * SECOND, "main;write 1");
	note(history, profile, 6, 6 * SECOND);
	check_range(history, 3, 5, "all 0/15\n main 0/15\n  found 4/4\n  write 11/11\n",
		    "the profile was reset in between");
	history_destroy(history);
	profile_destroy(profile);
}

static void note_waits(struct history *history, struct profile *profile, uint64_t sequence,
		       double ticks)
{
	struct snapshot *snapshot = snapshot_at(profile, sequence, sequence * SECOND);

	snapshot->waits = calloc(1, sizeof(*snapshot->waits));
	snapshot->waits->span_ticks = ticks;
	history_add(history, snapshot);
	snapshot_destroy(snapshot);
}

/* For how long waits were watched: from 2 s to 5 s of one profile, and 1.5 s of the next. */
static void test_range_of_waits(void)
{
	struct history *history;
	struct profile *profile;
	struct snapshot *range;

	must(history_create(&history));
	must(profile_create(4096, HALF_LIFE, frames, &profile));
	stacks_add(profile, frames, SECOND, "main;read 1");
	note_waits(history, profile, 1, 2000);
	note_waits(history, profile, 2, 5000);
	profile_reset(profile);
	stacks_add(profile, frames, 3 * SECOND, "main;write 1");
	note_waits(history, profile, 3, 1500);
	must(history_get_range(history, 0, 2, &range));
	check(range->waits->span_ticks == 4500 && range->waits->span_live == 4500,
	      "waits of a range with a reset: %g ms", range->waits->span_ticks);
	snapshot_destroy(range);
	history_destroy(history);
	profile_destroy(profile);
}

/* Ever-new paths: each range has what came, and memory stays bounded. */
static void test_range_of_new_paths(void)
{
	struct history *history;
	struct profile *profile;
	struct snapshot *range;
	size_t most = 0, empty;
	char stack[64];

	must(history_create(&history));
	empty = history_memory_bytes(history);
	must(profile_create(200, 0, frames, &profile));
	for (uint64_t i = 1; i <= 400; i++) {
		for (unsigned j = 0; j < 30; j++) {
			snprintf(stack, sizeof(stack), "main;f%u 2", (unsigned)(i * 30 + j) % 20000);
			stacks_add(profile, frames, i * SECOND, stack);
		}
		note(history, profile, i, i * SECOND);
		most = history_memory_bytes(history) > most ? history_memory_bytes(history) : most;
	}
	must(history_get_range(history, 99, 399, &range));
	check(range->total_weight > 17999 && range->total_weight < 18001,
	      "300 seconds of 60 samples, of which most were dropped: %g", range->total_weight);
	most -= empty + 400 * (sizeof(struct snapshot) + sizeof(struct snapshot_run));
	check(most < 3 << 20, "%zu bytes at most, besides %zu", most, empty);
	snapshot_destroy(range);
	history_destroy(history);
	profile_destroy(profile);
}

/* --- locks of a moment ------------------------------------------------------------------------ */

static void add_lock_task(struct snapshot_waits *waits, uint32_t pid, uint32_t lock,
			  const char *process)
{
	struct snapshot_lock_task task = { .pid = pid,
					   .process = stacks_frame(frames, process),
					   .thread = FRAME_NONE,
					   .site = FRAME_NONE,
					   .lock = lock,
					   .waited_ns = pid * SECOND };

	if (lock != SNAPSHOT_NO_LOCK) {
		task.holder_pid = waits->locks[lock].holder_pid;
		waits->locks[lock].now++;
	}
	waits->lock_tasks[waits->n_lock_tasks++] = task;
}

/* A snapshot with N_LOCKS locks: number I is at I * 8 + 8, and task I + 1 holds it. */
static struct snapshot *snapshot_with_locks(struct profile *profile, uint64_t sequence,
					    size_t n_locks, size_t n_tasks)
{
	struct snapshot *snapshot = snapshot_at(profile, sequence, sequence * SECOND);
	struct snapshot_waits *waits = calloc(1, sizeof(*waits));

	snapshot->waits = waits;
	waits->span_live = waits->span_ticks = 1000;
	waits->locks = calloc(n_locks, sizeof(*waits->locks));
	waits->lock_tasks = calloc(n_tasks, sizeof(*waits->lock_tasks));
	for (uint32_t i = 0; i < n_locks; i++)
		waits->locks[waits->n_locks++] =
			(struct snapshot_lock){ .address = i * 8 + 8,
						.kind = OS_LOCK_MUTEX,
						.certainty = OS_HOLDER_EXACT,
						.holder_pid = i + 1,
						.live_ticks = 2000 };
	return snapshot;
}

static char *forest_text(const struct snapshot *snapshot)
{
	char *text, words[LOCKS_TEXT_BYTES];
	struct locks_forest forest;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	must(locks_build(snapshot, &forest));
	for (size_t i = 0; i < forest.n; i++) {
		const struct locks_line *line = &forest.lines[i];

		if (line->kind == LOCKS_LOCK) {
			locks_name(snapshot, line, words);
			fprintf(file, "%*s%s, %u wait, mean %g\n", (int)line->depth, "", words,
				snapshot->waits->locks[line->lock].now,
				locks_mean(snapshot, line, false));
			continue;
		}
		locks_describe(snapshot, line, words);
		fprintf(file, "%*s%s%s\n", (int)line->depth, "",
			line->kind == LOCKS_DEADLOCK ? "DEADLOCK " : "", words);
	}
	fprintf(file, "%u wait for %u locks, %u deadlocks\n", forest.waiters, forest.locks,
		forest.deadlocks);
	fclose(file);
	locks_deinit(&forest);
	return text;
}

/* Task 1 holds a lock for which 200 others wait; 2 and 3 wait for each other; nobody wants lock 3. */
static void test_locks(void)
{
	struct history *history;
	struct profile *profile;
	struct snapshot *snapshot, *back;
	char *was, *is;
	size_t before, moment;

	must(history_create(&history));
	must(profile_create(4096, 0, frames, &profile));
	stacks_add(profile, frames, SECOND, "main;read 1");
	note(history, profile, 1, SECOND);
	before = history_memory_bytes(history);
	note(history, profile, 2, 2 * SECOND);
	moment = history_memory_bytes(history) - before;
	snapshot = snapshot_with_locks(profile, 3, 4, 300);
	add_lock_task(snapshot->waits, 1, SNAPSHOT_NO_LOCK, "db");
	add_lock_task(snapshot->waits, 2, 2, "a");
	add_lock_task(snapshot->waits, 3, 1, "b");
	for (uint32_t pid = 10; pid < 210; pid++)
		add_lock_task(snapshot->waits, pid, 0, "web");
	history_add(history, snapshot);
	must(history_get(history, 2, &back));
	was = forest_text(snapshot);
	is = forest_text(back);
	check_string(is, was, "the forest of a moment");
	check(strstr(is, "200 x web") && strstr(is, "DEADLOCK"),
	      "the forest of a moment has all waiters: %s", is);
	check(back->waits->n_locks == 3 && back->waits->n_lock_tasks == 4, "in %zu locks, %zu tasks",
	      back->waits->n_locks, back->waits->n_lock_tasks);
	check_u64(history_memory_bytes(history) - before - 2 * moment,
		  sizeof(struct snapshot_waits) + 3 * sizeof(struct snapshot_lock) +
			  4 * sizeof(struct snapshot_lock_task),
		  "memory of locks");
	snapshot_destroy(back);
	must(history_get(history, 1, &back));
	check(!back->waits, "a moment without locks has no waits");
	snapshot_destroy(back);
	must(history_get_range(history, 1, 2, &back));
	check(!back->waits->locks && !back->waits->n_lock_tasks, "a range has no locks");
	snapshot_destroy(back);
	snapshot_destroy(snapshot);
	free(was);
	free(is);
	history_destroy(history);
	profile_destroy(profile);
}

/* Locks that have more lines than there is room for. The tasks of the deadlock are the last ones. */
static void test_many_locks(void)
{
	enum { LOCKS = 300 };
	struct history *history;
	struct profile *profile;
	struct snapshot *snapshot, *back;
	char *is;

	must(history_create(&history));
	must(profile_create(4096, 0, frames, &profile));
	stacks_add(profile, frames, SECOND, "main;read 1");
	snapshot = snapshot_with_locks(profile, 1, LOCKS, 2 * LOCKS);
	for (uint32_t i = 1; i <= LOCKS - 2; i++)
		add_lock_task(snapshot->waits, i, SNAPSHOT_NO_LOCK, "db");
	add_lock_task(snapshot->waits, LOCKS - 1, LOCKS - 1, "a");
	add_lock_task(snapshot->waits, LOCKS, LOCKS - 2, "b");
	for (uint32_t i = 0; i < LOCKS - 2; i++)
		add_lock_task(snapshot->waits, 1000 + i, i, "web");
	history_add(history, snapshot);
	must(history_get(history, 0, &back));
	is = forest_text(back);
	check(back->waits->n_locks <= HISTORY_LOCKS_MAX &&
		      back->waits->n_lock_tasks == HISTORY_LOCKS_MAX,
	      "%zu locks and %zu tasks stay", back->waits->n_locks, back->waits->n_lock_tasks);
	check(strstr(is, "DEADLOCK a 299 waits for b 300 (mutex 0x960); b 300 waits for a 299"),
	      "the deadlock stays");
	free(is);
	snapshot_destroy(back);
	snapshot_destroy(snapshot);
	history_destroy(history);
	profile_destroy(profile);
}

static void test_host(void)
{
	struct snapshot *snapshot, *back;
	struct history *history;
	struct profile *profile;
	size_t before;

	must(history_create(&history));
	must(profile_create(4096, 0, frames, &profile));
	stacks_add(profile, frames, SECOND, "main;read 1");
	note(history, profile, 1, SECOND);
	note(history, profile, 2, 2 * SECOND);
	before = history_memory_bytes(history);
	snapshot = snapshot_at(profile, 3, 3 * SECOND);
	snapshot->run->takers = calloc(1, sizeof(*snapshot->run->takers));
	snapshot->run->takers->looks = 77;
	history_add(history, snapshot);
	check(history_memory_bytes(history) > before + sizeof(struct takers_table),
	      "a history counts the memory of neighbours");
	must(history_get(history, 2, &back));
	check_u64(back->run->takers->looks, 77, "a moment has the neighbours");
	snapshot_destroy(back);
	must(history_get(history, 1, &back));
	check(!back->run->takers, "a moment from before has no neighbours");
	snapshot_destroy(back);
	must(history_get_range(history, 1, 2, &back));
	check(!back->run->takers, "a range with one table of neighbours has none");
	snapshot_destroy(back);
	snapshot_destroy(snapshot);
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
	check(percents[0] == 25,
	      "a share after a reset counts new samples, even if more than before it: %g",
	      percents[0]);
	history_shares(history, 5, stacks_frame(frames, "write"), 1, percents);
	check(percents[0] == 75, "a range has all samples: %g", percents[0]);
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
	check_u64(history_count(history), HISTORY_MOMENTS, "moments of a full history");
	check(history_memory_bytes(history) <= full, "the ring of moments does not grow: %zu, %zu",
	      history_memory_bytes(history), full);
	check(full < (40 << 20), "%.1f MiB", (double)full / 1048576);
	must(history_get(history, 0, &back));
	check_u64(back->sequence, 101, "the oldest moment");
	check(back->n_nodes <= HISTORY_MOMENT_NODES, "%zu of %zu nodes", back->n_nodes,
	      snapshot->n_nodes);
	check(!stacks_broken(back), "each moment is a tree: %s",
	      stacks_broken(back) ? stacks_broken(back) : "yes");
	check_u64(back->nodes[0].children_total, snapshot->nodes[0].children_total,
		  "no weight is lost");
	check(back->n_frames == snapshot->n_frames, "a moment has all names");
	snapshot_destroy(back);
	snapshot_destroy(snapshot);
	history_destroy(history);
	profile_destroy(profile);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_moments();
	test_range();
	test_range_of_waits();
	test_range_of_new_paths();
	test_locks();
	test_many_locks();
	test_host();
	test_shares();
	test_large();
	frames_destroy(frames);
	return tap_done();
}
