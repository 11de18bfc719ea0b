/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forest of locks: which line stands below which, circles, unknown holders, and texts. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/os/os_waits.h"
#include "xtop/query/locks.h"

#define S    1000000000ULL
#define NONE SNAPSHOT_NO_LOCK

static struct frames *frames;

/* Task PID waits for lock number LOCK, or for none. */
struct wait {
	uint32_t pid, lock;
	const char *process, *site;
};

/* A lock is held by HOLDER, a pid. */
struct held {
	uint32_t holder;
	enum os_holder certainty;
	enum os_lock_kind kind;
	const char *name;
};

static uint32_t frame(enum frame_kind kind, const char *name)
{
	return name ? frames_intern(frames, kind, name, "", 0) : FRAME_NONE;
}

static struct snapshot *make(const struct held *locks, size_t n_locks, const struct wait *waits,
			     size_t n_waits)
{
	struct snapshot *snapshot = snapshot_create(0);
	struct snapshot_waits *to = calloc(1, sizeof(*to));

	snapshot->frames = frames;
	snapshot->waits = to;
	to->span_live = to->span_ticks = 1000;
	to->locks = calloc(n_locks, sizeof(*to->locks));
	to->lock_tasks = calloc(n_waits, sizeof(*to->lock_tasks));
	to->n_locks = n_locks;
	to->n_lock_tasks = n_waits;
	for (size_t i = 0; i < n_locks; i++) {
		to->locks[i] = (struct snapshot_lock){ .address = 0x1000 + i,
						       .kind = (uint8_t)locks[i].kind,
						       .certainty = (uint8_t)locks[i].certainty,
						       .holder_pid = locks[i].holder,
						       .live_ticks = 1500,
						       .ticks = 500 };
		if (locks[i].name)
			strcpy(to->locks[i].name, locks[i].name);
	}
	for (size_t i = 0; i < n_waits; i++) {
		to->lock_tasks[i] = (struct snapshot_lock_task){
			.pid = waits[i].pid,
			.process = waits[i].process
					   ? frames_intern_process(frames, waits[i].process, NULL)
					   : FRAME_NONE,
			.thread = FRAME_NONE,
			.site = frame(FRAME_KIND_KERNEL, waits[i].site),
			.lock = waits[i].lock,
			.state = OS_WAIT_BLOCKED,
			.waited_ns = waits[i].pid * S / 10,
		};
		if (waits[i].lock == NONE)
			continue;
		to->lock_tasks[i].holder_pid = locks[waits[i].lock].holder;
		to->lock_tasks[i].certainty = (uint8_t)locks[waits[i].lock].certainty;
		to->locks[waits[i].lock].now++;
	}
	return snapshot;
}

static char *forest_text(const struct snapshot *snapshot, struct locks_forest *forest)
{
	char *text, words[LOCKS_TEXT_BYTES];
	size_t size;
	FILE *file = open_memstream(&text, &size);

	must(locks_build(snapshot, forest));
	for (size_t i = 0; i < forest->n; i++) {
		const struct locks_line *line = &forest->lines[i];

		if (line->kind == LOCKS_LOCK)
			locks_name(snapshot, line, words);
		else
			locks_describe(snapshot, line, words);
		fprintf(file, "%*s%s%s\n", (int)line->depth, "",
			line->kind == LOCKS_DEADLOCK ? "DEADLOCK " : "", words);
	}
	fclose(file);
	return text;
}

static void check_forest(struct snapshot *snapshot, uint32_t deadlocks, const char *want,
			 const char *what)
{
	struct locks_forest forest;
	char *text = forest_text(snapshot, &forest);

	check_string(text, want, what);
	check(forest.deadlocks == deadlocks, "%s: %u deadlocks", what, forest.deadlocks);
	free(text);
	locks_deinit(&forest);
	snapshot_destroy(snapshot);
}

#define CHECK_FOREST(what, deadlocks, locks, waits, want)                                          \
	check_forest(make(locks, sizeof(locks) / sizeof(locks[0]), waits,                          \
			  sizeof(waits) / sizeof(waits[0])),                                       \
		     deadlocks, want, what)

static void test_tree(void)
{
	static const struct held locks[] = {
		{ 5, OS_HOLDER_EXACT, OS_LOCK_MUTEX, NULL },
		{ 6, OS_HOLDER_GUESS, OS_LOCK_FUTEX, NULL },
		{ 0, OS_HOLDER_UNKNOWN, OS_LOCK_SEMAPHORE, NULL },
		{ 0, OS_HOLDER_NO_TASK, OS_LOCK_RWSEM, "mmap_lock" },
	};
	static const struct wait waits[] = {
		{ 5, NONE, "db", "rq_qos_wait" }, { 6, 0, "db", "commit" },
		{ 7, 0, "db", "commit" },	  { 8, 0, "db", "commit" },
		{ 9, 1, "web", "serve" },	  { 10, 2, "cat", NULL },
		{ 11, 3, NULL, NULL },
	};

	CHECK_FOREST("holders, their locks, who waits", 0, locks, waits,
		     "db 5 sleeps in rq_qos_wait for 500 ms\n"
		     " mutex 0x1000\n"
		     "  db 6 sleeps in commit for 600 ms\n"
		     "   futex 0x1001 (a guess)\n"
		     "    web 9 sleeps in serve for 900 ms\n"
		     "  2 x db 8 sleeps in commit for 800 ms\n"
		     "semaphore 0x1002: the holder is not known\n"
		     " cat 10 sleeps for 1.0 s\n"
		     "rwsem mmap_lock: held, but not by a task\n"
		     " task 11 sleeps for 1.1 s\n");
}

static void test_circles(void)
{
	static const struct held two[] = { { 2, OS_HOLDER_EXACT, OS_LOCK_MUTEX, "a" },
					   { 1, OS_HOLDER_GUESS, OS_LOCK_FUTEX, "b" } };
	static const struct wait abba[] = { { 1, 0, "x", "f" }, { 2, 1, "y", "g" },
					    { 3, 0, "z", "f" } };
	static const struct held readers[] = { { 2, OS_HOLDER_EXACT, OS_LOCK_MUTEX, "a" },
					       { 1, OS_HOLDER_LAST, OS_LOCK_RWSEM, "b" } };
	static const struct held self[] = { { 1, OS_HOLDER_EXACT, OS_LOCK_MUTEX, "a" } };
	static const struct wait alone[] = { { 1, 0, "x", "f" } };

	CHECK_FOREST("two tasks in a circle, one before it", 1, two, abba,
		     "DEADLOCK x 1 waits for y 2 (mutex a); "
		     "y 2 waits for x 1 (futex b, a guess)\n"
		     "y 2 sleeps in g for 200 ms\n"
		     " mutex a\n"
		     "  x 1 sleeps in f for 100 ms\n"
		     "   futex b (a guess)\n"
		     "  z 3 sleeps in f for 300 ms\n");
	CHECK_FOREST("a circle through a last known reader is no deadlock", 0, readers, abba,
		     "x 1 sleeps in f for 100 ms\n"
		     " rwsem b (the last known reader)\n"
		     "  y 2 sleeps in g for 200 ms\n"
		     "   mutex a\n"
		     "    z 3 sleeps in f for 300 ms\n");
	CHECK_FOREST("a task that waits for itself", 1, self, alone,
		     "DEADLOCK x 1 waits for x 1 (mutex a)\n"
		     "x 1 sleeps in f for 100 ms\n"
		     " mutex a\n");
}

/*
 * Task 2 waits for b, which 1 has, and 1 for a, which 4 has. Then 4 gives a back, 1 gets it and gives both
 * back, and 2 gets both. At last 3 is looked at, which waits for a. So 2 has a, but not when 1 waited for
 * it.
 */
static void test_later_holder(void)
{
	static const struct held locks[] = { { 2, OS_HOLDER_EXACT, OS_LOCK_MUTEX, "a" },
					     { 1, OS_HOLDER_EXACT, OS_LOCK_MUTEX, "b" } };
	static const struct wait waits[] = { { 1, 0, "x", "f" }, { 2, 1, "y", "g" },
					     { 3, 0, "z", "f" }, { 4, NONE, "w", "h" } };
	struct snapshot *snapshot = make(locks, 2, waits, 4);

	snapshot->waits->lock_tasks[0].holder_pid = 4;
	check_forest(snapshot, 0,
		     "x 1 sleeps in f for 100 ms\n"
		     " mutex b\n"
		     "  y 2 sleeps in g for 200 ms\n"
		     "   mutex a\n"
		     "    z 3 sleeps in f for 300 ms\n",
		     "looks at different times make no circle");
}

/* 500 tasks in a row, each waiting for the next. */
static void test_deep(void)
{
	static struct held locks[500];
	static struct wait waits[501];
	struct locks_forest forest;
	struct snapshot *snapshot;
	unsigned deepest = 0;

	for (uint32_t i = 0; i < 500; i++) {
		locks[i] = (struct held){ i + 2, OS_HOLDER_EXACT, OS_LOCK_MUTEX, NULL };
		waits[i] = (struct wait){ i + 1, i, "x", "f" };
	}
	waits[500] = (struct wait){ 501, NONE, "x", "f" };
	snapshot = make(locks, 500, waits, 501);
	must(locks_build(snapshot, &forest));
	for (size_t i = 0; i < forest.n; i++)
		if (forest.lines[i].depth > deepest)
			deepest = forest.lines[i].depth;
	check(deepest <= LOCKS_MAX_DEPTH + 1 && forest.n >= 900, "depth %u, %zu lines", deepest,
	      forest.n);
	locks_deinit(&forest);
	snapshot_destroy(snapshot);
}

static void test_texts(void)
{
	static const struct held locks[] = { { 1, OS_HOLDER_EXACT, OS_LOCK_FUTEX_PI, NULL } };
	static const struct wait waits[] = { { 1, NONE, "x", NULL }, { 2, 0, "y", "f" } };
	struct snapshot *snapshot = make(locks, 1, waits, 2), *copy;
	const struct locks_line line = { .kind = LOCKS_TASK, .task = 0, .n = 1 };
	char text[LOCKS_TEXT_BYTES];

	snapshot->waits->lock_tasks[0].on_cpu = true;
	snapshot->waits->lock_tasks[0].cpu = 3;
	locks_describe(snapshot, &line, text);
	check_string(text, "x 1 runs on vCPU 3", "a holder that runs");
	snapshot->waits->lock_tasks[0].cpu = UINT32_MAX;
	locks_describe(snapshot, &line, text);
	check_string(text, "x 1 runs", "a running task whose CPU is not known");
	check(locks_mean(snapshot, &line, false) == 1.5 && locks_mean(snapshot, &line, true) == 0.5,
	      "means, live and since start");
	copy = snapshot_copy(snapshot);
	snapshot_destroy(snapshot);
	check(copy && copy->waits->n_locks == 1 && copy->waits->lock_tasks[1].pid == 2,
	      "a copy has locks of its own");
	snapshot_destroy(copy);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_tree();
	test_circles();
	test_later_holder();
	test_deep();
	test_texts();
	frames_destroy(frames);
	return tap_done();
}
