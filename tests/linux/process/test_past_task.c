/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a task had started when a sample was taken, and whether it was a copy of its parent then.
 */
#include "config.h"

#include "linux/process/past_task.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define MS 1000000ULL
#define S  (1000 * MS)

struct fixture {
	struct made_linux *made;
	struct tasks *tasks;
	uint64_t parent, child;
};

static struct task started(uint64_t start_time)
{
	return (struct task){ .start_time = start_time };
}

static void see(struct clock_gap *clock, uint64_t start_time, uint64_t now_ns)
{
	struct task task = started(start_time);

	start_clock_update(clock, &task, now_ns);
}

static bool was_there(const struct clock_gap *clock, uint64_t start_time, uint64_t time_ns)
{
	struct task task = started(start_time);

	return start_clock_had_started(clock, &task, time_ns);
}

/*
 * The guest's clock is OFFSET behind ours. The youngest of the tasks that are read started 3 ms
 * before, so start times are known to 3 ms.
 */
static void check_clock(uint64_t offset, const char *what)
{
	struct clock_gap clock = { 0 };
	uint64_t now = 1000 * S + offset;

	check(!was_there(&clock, 990 * S, now), "%s: no task was read yet", what);
	see(&clock, 10 * S, now);
	see(&clock, 1000 * S - 3 * MS, now);
	see(&clock, 20 * S, now + MS);
	see(&clock, 0, now + MS);
	check(was_there(&clock, 990 * S, now - 9 * S),
	      "%s: the task started a second before the sample", what);
	check(was_there(&clock, 990 * S, 990 * S + offset + 3 * MS),
	      "%s: the task started 3 ms before the sample", what);
	check(!was_there(&clock, 990 * S, 990 * S + offset + 3 * MS - 1),
	      "%s: less than 3 ms before the sample is not certain", what);
	check(!was_there(&clock, 990 * S, 980 * S + offset),
	      "%s: the task started after the sample", what);
	check(!was_there(&clock, 0, now), "%s: the start time is not known", what);
}

/* A gap from long ago does not count: the guest's clock may have been set back since. */
static void test_spans(void)
{
	struct clock_gap clock = { 0 };

	see(&clock, 999 * S, 1000 * S);
	for (unsigned i = 1; i < 10; i++)
		see(&clock, 900 * S, 1000 * S + i * S);
	check(was_there(&clock, 500 * S, 501 * S), "a gap of the last ten seconds is used");
	see(&clock, 900 * S, 1011 * S);
	check(was_there(&clock, 500 * S, 501 * S), "a gap of the ten seconds before is used");
	see(&clock, 900 * S, 1022 * S);
	check(!was_there(&clock, 500 * S, 501 * S), "an older gap is not used");
	check(was_there(&clock, 500 * S, 611 * S), "a smaller gap that was found since is used");
}

static void begin(struct fixture *fixture)
{
	fixture->made = made_linux_create(MADE_TREE);
	must(tasks_create(&fixture->made->guest, &fixture->tasks));
	fixture->parent = made_task(fixture->made, 100, 100, "sh", MADE_OBJECTS + 0x100000, 0);
	fixture->child = made_task(fixture->made, 101, 101, "wget", MADE_OBJECTS + 0x200000, 0);
	made_set(fixture->made, fixture->child, TASK_REAL_PARENT, fixture->parent);
	made_set_u32(fixture->made, fixture->parent, TASK_SELF_EXEC_ID, 7);
}

static void check_copy(struct fixture *fixture, uint32_t exec_id, uint64_t mm, bool copy,
		       const char *what)
{
	const struct task *found = NULL, *task;
	bool is;

	made_set_u32(fixture->made, fixture->child, TASK_SELF_EXEC_ID, exec_id);
	made_set(fixture->made, fixture->child, TASK_MM, mm);
	tasks_invalidate(fixture->tasks, fixture->child);
	task = tasks_find(fixture->tasks, fixture->child, 0);
	is = task &&
	     past_task_is_parent_copy(&fixture->made->guest, fixture->tasks, task, 0, &found);
	check(is == copy && (!is || found->address == fixture->parent), "%s", what);
}

static void test_copies(struct fixture *fixture)
{
	const uint64_t mm = MADE_OBJECTS + 0x200000;

	begin(fixture);
	check_copy(fixture, 8, mm, true, "one exec() since the fork(): a copy before that");
	check_copy(fixture, 7, 0, true, "ended without an exec(): a copy");
	check_copy(fixture, 7, mm, false, "alive without an exec(): the memory is its own");
	check_copy(fixture, 8, 0, false, "ended after an exec(): it may have been either");
	check_copy(fixture, 9, mm, false, "two exec() calls: it may have been the first program");
	check_copy(fixture, 6, mm, false, "the parent has called exec() since");
	made_set(fixture->made, fixture->parent, TASK_MM, 0);
	tasks_invalidate(fixture->tasks, fixture->parent);
	check_copy(fixture, 8, mm, false, "the parent has ended");
	made_set(fixture->made, fixture->parent, TASK_MM, MADE_OBJECTS + 0x100000);
	tasks_invalidate(fixture->tasks, fixture->parent);
	check_copy(fixture, 8, mm, true, "the parent is alive again: a copy");
	made_set(fixture->made, fixture->child, TASK_REAL_PARENT, 0x1000);
	check_copy(fixture, 8, mm, false, "the parent's address is no kernel pointer");
	made_without(fixture->made, TASK_SELF_EXEC_ID);
	made_set(fixture->made, fixture->child, TASK_REAL_PARENT, fixture->parent);
	tasks_invalidate(fixture->tasks, fixture->child);
	check(!past_task_is_parent_copy(&fixture->made->guest, fixture->tasks,
					tasks_find(fixture->tasks, fixture->child, 0), 0,
					&(const struct task *){ NULL }),
	      "a kernel that does not count exec() calls gives no parent");
	tasks_destroy(fixture->tasks);
	made_linux_destroy(fixture->made);
}

int main(void)
{
	static struct fixture fixture;

	check_clock(0, "guest with our clock");
	check_clock(500 * S, "guest booted later");
	check_clock(-(500 * S), "guest ahead of us");
	test_spans();
	test_copies(&fixture);
	return tap_done();
}
