/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that do not run: which are seen, with which stacks, since when; what is not read again; and
 * lists of tasks that cannot be right.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "linux/process/xarray.h"
#include "linux/sleepers.h"
/* The usual number of tasks would be a GB of made memory. */
#undef SLEEPERS_MAX
#define SLEEPERS_MAX 600
#include "../../src/linux/sleepers.c"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/work.h"
#include "xtop/sample/sample.h"

#define MS          1000000ULL
#define S           (1000 * MS)
#define PERIOD      (500 * MS)
#define STACK_BYTES 16384
#define RETURN      0xffffffff81234567ULL

struct fixture {
	struct made_linux *made;
	struct tasks *tasks;
	struct processes *processes;
	struct sleepers *sleepers;
	uint64_t ns, leaf;    /* the namespace of pids, and the leaf of its tree */
	uint64_t moving;      /* a task that runs and sleeps again while its stack is read */
	unsigned moves;       /* how often it still does so */
	frame_t moving_frame; /* page of its stack */
};

/* What the sink has got in the last pass. */
static struct seen {
	unsigned adds, stacks, ends;
	uint32_t pid;
	enum os_wait_state state;
	uint64_t waited_ns, weight_ns, ended_ns, rip, stack_bytes;
	char thread[TASK_NAME_BYTES];
	bool keeps;
} seen;

static void add(void *context, const struct os_wait *wait)
{
	(void)context;
	seen.adds++;
	seen.state = wait->state;
	seen.waited_ns = wait->waited_ns;
	seen.weight_ns = wait->weight_ns;
	if (!wait->vcpu)
		return;
	seen.stacks++;
	seen.pid = wait->task->pid;
	seen.rip = wait->vcpu->regs.rip;
	snprintf(seen.thread, sizeof(seen.thread), "%s", wait->task->thread);
	seen.stack_bytes = sample_first_stack(wait->vcpu)->size_bytes;
	if (seen.keeps)
		*wait->kept = malloc(1);
}

static void end_wait(void *context, void *kept, uint64_t waited_ns)
{
	(void)context;
	(void)kept;
	seen.ends++;
	seen.ended_ns = waited_ns;
}

static const struct os_waits_sink sink = { add, end_wait, NULL, NULL };

/* NOW_NS counts from a time that the real clock has not reached: made memory has no other clock. */
#define BASE (1000000 * S)
static enum os_waits_turn turn(struct fixture *fixture, uint64_t now_ns)
{
	now_ns += BASE;
	seen = (struct seen){ .keeps = true };
	return sleepers_read(fixture->sleepers, now_ns, PERIOD, &sink);
}

/* --- the guest -------------------------------------------------------------------------------- */

static void begin(struct fixture *fixture)
{
	static const struct processes_settings none = { .debug.root_fd = -1 };
	uint64_t root;

	fixture->made = made_linux_create(MADE_TREE);
	fixture->ns = made_object(fixture->made, 64, 64);
	fixture->made->guest.symbols[LINUX_INIT_PID_NS] = fixture->ns;
	root = made_xa_node(fixture->made, 6);
	fixture->leaf = made_xa_node(fixture->made, 0);
	made_xa_slot(fixture->made, root, 0, made_xa_entry(fixture->leaf));
	made_put_u64(fixture->made->memory, fixture->made->guest.root,
		     fixture->ns + made_offset(fixture->made, PID_NS_IDR) +
			     made_offset(fixture->made, XARRAY_HEAD),
		     made_xa_entry(root));
	must(tasks_create(&fixture->made->guest, &fixture->tasks));
	must(processes_create(&fixture->made->guest, &none, &fixture->processes));
	check(sleepers_can_read(&fixture->made->guest), "a kernel with all members can be read");
	must(sleepers_create(&fixture->made->guest, fixture->tasks, fixture->processes,
			     &fixture->sleepers));
}

static void end(struct fixture *fixture)
{
	sleepers_destroy(fixture->sleepers);
	processes_destroy(fixture->processes);
	tasks_destroy(fixture->tasks);
	made_linux_destroy(fixture->made);
}

/* A task in the leaf, asleep with 256 bytes of stack. */
static uint64_t sleeper(struct fixture *fixture, uint32_t pid, uint32_t state)
{
	uint64_t task = made_task(fixture->made, pid, pid, "waiter", 0, 0);
	uint64_t stack = made_object(fixture->made, STACK_BYTES, STACK_BYTES);
	uint64_t struct_pid = made_object(fixture->made, GUEST_PAGE_SIZE, GUEST_PAGE_SIZE);
	uint64_t sp = stack + STACK_BYTES - 256;

	made_set(fixture->made, task, TASK_STACK, stack);
	made_set(fixture->made, task, TASK_SP, sp);
	made_put_u64(fixture->made->memory, fixture->made->guest.root, sp + 6 * 8, RETURN);
	made_set_u32(fixture->made, task, TASK_STATE, state);
	made_set(fixture->made, task, TASK_SWITCHES, 10);
	made_set(fixture->made, struct_pid, PID_TASKS,
		 task + made_offset(fixture->made, TASK_PID_LINKS));
	made_xa_slot(fixture->made, fixture->leaf, pid % 64, struct_pid);
	memory_refresh(fixture->made->guest.memory);
	return task;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_one(struct fixture *fixture)
{
	uint64_t task;

	begin(fixture);
	task = sleeper(fixture, 7, 1);
	check(turn(fixture, 10 * S) == OS_WAITS_WHOLE && seen.adds == 1 && seen.stacks == 1,
	      "a sleeping task is reported with its stack");
	check_u64(seen.pid, 7, "a sleeping task has its pid");
	check_u64(seen.rip, RETURN, "a sleeping task has the pc where it left its CPU");
	check_u64(seen.stack_bytes, 256, "a sleeping task has its stack from the stack pointer on");
	check(seen.state == OS_WAIT_SLEEPING && seen.weight_ns == PERIOD,
	      "a task's first look has state S and represents a period");
	check(turn(fixture, 10 * S + 600 * MS) == OS_WAITS_WHOLE && seen.adds == 1 && !seen.stacks,
	      "a task that has not run is not read again");
	check_u64(seen.weight_ns, 600 * MS, "a look represents the time since the last pass");

	made_set(fixture->made, task, TASK_SWITCHES, 11);
	turn(fixture, 11 * S);
	check(seen.ends == 1 && seen.stacks == 1, "a task that has run is read again");
	made_set_u32(fixture->made, task, TASK_ON_CPU, 1);
	turn(fixture, 12 * S);
	check(!seen.adds && seen.ends == 1 && sleepers_counts(fixture->sleepers).running == 1,
	      "a task on a CPU does not wait");
	made_set_u32(fixture->made, task, TASK_ON_CPU, 0x01010100);
	turn(fixture, 13 * S);
	check(seen.adds == 1, "the bytes after on_cpu, one byte in 7.3, are ignored");
	made_set_u32(fixture->made, task, TASK_ON_CPU, 0);
	made_set_u32(fixture->made, task, TASK_EXIT_STATE, 32);
	turn(fixture, 14 * S);
	check(!seen.adds, "a zombie does not wait");
	end(fixture);
}

static void test_states(struct fixture *fixture)
{
	static const struct {
		uint32_t state;
		enum os_wait_state want;
	} states[] = {
		{ 0, OS_WAIT_RUNNABLE },      { 1, OS_WAIT_SLEEPING }, { 2, OS_WAIT_BLOCKED },
		{ 0x102, OS_WAIT_BLOCKED },   { 0x402, OS_WAIT_IDLE }, { 4, OS_WAIT_STOPPED },
		{ 0x40, OS_WAIT_STOPPED },    { 0x2001, OS_WAIT_SLEEPING },
		{ 0x1000, OS_WAIT_BLOCKED },  { 0x8000, OS_WAIT_BLOCKED },
	};
	uint64_t task;

	begin(fixture);
	task = sleeper(fixture, 9, 1);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		made_set_u32(fixture->made, task, TASK_STATE, states[i].state);
		turn(fixture, (20 + i) * S);
		check(seen.adds == 1 && seen.state == states[i].want, "a task has its state: %x",
		      states[i].state);
	}
	end(fixture);
}

/* The guest's clock is 5 s behind ours. */
static void test_times(struct fixture *fixture)
{
	uint64_t task, other;

	begin(fixture);
	task = sleeper(fixture, 7, 2);
	made_set(fixture->made, task, TASK_LAST_ARRIVAL, 10 * S);
	made_set(fixture->made, task, TASK_RUN_SUM, 900 * MS);
	made_set(fixture->made, task, TASK_RUN_SUM_THEN, 700 * MS);
	other = sleeper(fixture, 5, 1);
	made_set(fixture->made, other, TASK_LAST_ARRIVAL, 95 * S - MS); /* it has just run */
	turn(fixture, 100 * S);
	/* Left its CPU at 10.2 s, which is 15.2 s on our clock; the gap is too large by MS. */
	check_u64(seen.waited_ns, 100 * S - 15200 * MS - MS,
		  "a wait begins when the task left its CPU");

	made_set(fixture->made, task, TASK_SWITCHES, 11);
	made_set(fixture->made, task, TASK_LAST_ARRIVAL, 95300 * MS);
	made_set(fixture->made, task, TASK_RUN_SUM, 710 * MS);
	turn(fixture, 100 * S + 500 * MS);
	check(seen.ends == 1, "a wait that is over is reported");
	check_u64(seen.ended_ns, 100301 * MS - 15201 * MS, "a wait ends when the task got a CPU");
	check_u64(seen.waited_ns, 500 * MS - 311 * MS, "the next wait begins 10 ms later");

	made_set(fixture->made, task, TASK_SWITCHES, 13);
	made_set(fixture->made, task, TASK_LAST_ARRIVAL, 90 * S);
	turn(fixture, 101 * S);
	check_u64(seen.ended_ns, 189 * MS, "a wait with two runs after it ends at the last look");
	check_u64(seen.waited_ns, 500 * MS,
		  "a wait begins after the last look that did not see it");
	/* It got a CPU at 106 s on our clock, ran for 20 ms, was preempted, and ran for 5 ms. */
	turn(fixture, 105900 * MS);
	made_set(fixture->made, task, TASK_SWITCHES, 14);
	made_set(fixture->made, task, TASK_PREEMPTIONS, 1);
	made_set(fixture->made, task, TASK_LAST_ARRIVAL, 101 * S + 120 * MS - MS);
	made_set(fixture->made, task, TASK_RUN_SUM, 735 * MS);
	made_set(fixture->made, task, TASK_RUN_SUM_THEN, 730 * MS);
	made_set(fixture->made, task, TASK_RUN_DELAY, 160 * MS);
	turn(fixture, 106500 * MS);
	check_u64(seen.ended_ns, 5520 * MS,
		  "a preempted task's wait ends at its first run, within half a delay");
	made_set(fixture->made, task, TASK_SWITCHES, 15);
	made_set(fixture->made, task, TASK_LAST_ARRIVAL, UINT64_MAX / 2);
	turn(fixture, 102 * S);
	check(seen.waited_ns <= 1 * S,
	      "a wrong clock of the guest changes a time by no more than that");
	end(fixture);
}

/* A task is woken and has no CPU yet. */
static void test_woken(struct fixture *fixture)
{
	uint64_t task;

	begin(fixture);
	made_set(fixture->made, sleeper(fixture, 5, 1), TASK_LAST_ARRIVAL,
		 10 * S); /* it has just run */
	task = sleeper(fixture, 7, 2);
	made_set(fixture->made, task, TASK_LAST_ARRIVAL, 8 * S);
	turn(fixture, 10 * S);
	made_set_u32(fixture->made, task, TASK_STATE, 0);
	made_set(fixture->made, task, TASK_LAST_QUEUED, 10400 * MS);
	turn(fixture, 10500 * MS);
	check(seen.ends == 1 && seen.state == OS_WAIT_RUNNABLE,
	      "a task that was woken waits for a CPU");
	check_u64(seen.ended_ns, 2400 * MS, "a wait ends when the task was woken");
	check_u64(seen.waited_ns, 100 * MS, "a wait for a CPU begins when the task was woken");
	end(fixture);
}

/* When the looks begin, no task has run for a while, so the scheduler's clock seems to be behind. */
static void test_late_clock(struct fixture *fixture)
{
	uint64_t other;

	begin(fixture);
	made_set(fixture->made, sleeper(fixture, 7, 2), TASK_LAST_ARRIVAL, 100 * S - 2500 * MS);
	other = sleeper(fixture, 8, 1);
	made_set(fixture->made, other, TASK_LAST_ARRIVAL, 100 * S - 300 * MS);
	turn(fixture, 100 * S);
	made_xa_slot(fixture->made, fixture->leaf, 8, 0);
	turn(fixture, 100 * S + 500 * MS);
	check_u64(seen.waited_ns, 2700 * MS,
		  "a wait is measured with a clock that seems to be 300 ms behind");
	made_set(fixture->made, sleeper(fixture, 8, 1), TASK_LAST_ARRIVAL, 101 * S);
	turn(fixture, 101 * S);
	made_xa_slot(fixture->made, fixture->leaf, 8, 0);
	turn(fixture, 101 * S + 500 * MS);
	check_u64(seen.waited_ns, 4000 * MS, "a wait is measured again when the clock is known");
	end(fixture);
}

/* The moving task runs and sleeps again when its stack is read. */
static void on_copy(void *context, frame_t frame, const void *page, bool ok)
{
	struct fixture *fixture = context;

	(void)page;
	(void)ok;
	if (frame.value != fixture->moving_frame.value || !fixture->moves)
		return;
	fixture->moves--;
	made_put_u64(fixture->made->memory, fixture->made->guest.root,
		     fixture->moving + made_offset(fixture->made, TASK_SWITCHES),
		     100 + fixture->moves);
	made_put_u64(fixture->made->memory, fixture->made->guest.root,
		     fixture->moving + made_offset(fixture->made, TASK_LAST_ARRIVAL), 10 * S);
}

static void test_torn(struct fixture *fixture)
{
	const struct memory_watcher watcher = { .copy = on_copy, .context = fixture };
	uint64_t stack;

	begin(fixture);
	made_set(fixture->made, sleeper(fixture, 5, 1), TASK_LAST_ARRIVAL, 9 * S);
	turn(fixture, 9 * S); /* the clock is known */
	made_xa_slot(fixture->made, fixture->leaf, 5, 0);
	fixture->moving = sleeper(fixture, 7, 1);
	memory_read_u64(fixture->made->guest.memory, fixture->made->guest.root,
			fixture->moving + made_offset(fixture->made, TASK_STACK), &stack);
	fixture->moving_frame = made_frame(fixture->made->memory, fixture->made->guest.root,
					   stack + STACK_BYTES - 256);
	memory_set_watcher(fixture->made->guest.memory, &watcher);
	made_set(fixture->made, fixture->moving, TASK_LAST_ARRIVAL, 4 * S);
	fixture->moves = 2;
	turn(fixture, 10 * S);
	check(seen.adds == 1 && sleepers_counts(fixture->sleepers).retried == 2,
	      "a stack is read again if the task has run meanwhile");
	check_u64(seen.waited_ns, 0, "a stack that was read again belongs to a new wait");
	turn(fixture, 10 * S + 300 * MS);
	check_u64(seen.waited_ns, 300 * MS, "a new wait begins when it was first seen");
	made_set(fixture->made, fixture->moving, TASK_SWITCHES, 50);
	fixture->moves = 100;
	turn(fixture, 11 * S);
	check(!seen.adds && sleepers_counts(fixture->sleepers).left_out == 1,
	      "a task that never stands still is left out and counted");
	fixture->moves = 0;
	turn(fixture, 12 * S);
	check(seen.adds == 1 && seen.stacks == 1,
	      "a task that stands still is seen at the next look");
	end(fixture);
}

/* More tasks than a turn looks at, in two leaves. */
static void test_many(struct fixture *fixture)
{
	unsigned adds = 0, turns = 0;
	uint64_t root, second;

	begin(fixture);
	for (uint32_t pid = 1; pid < 60; pid++)
		sleeper(fixture, pid, 1);
	second = fixture->leaf = made_xa_node(fixture->made, 0);
	memory_read_u64(fixture->made->guest.memory, fixture->made->guest.root,
			fixture->ns + made_offset(fixture->made, PID_NS_IDR) +
				made_offset(fixture->made, XARRAY_HEAD),
			&root);
	made_xa_slot(fixture->made, root - 2, 5, made_xa_entry(second));
	for (uint32_t pid = 320; pid < 350; pid++)
		sleeper(fixture, pid, 1);
	while (turn(fixture, 10 * S) == OS_WAITS_MORE && turns++ < 100)
		adds += seen.adds;
	adds += seen.adds;
	check_u64(adds, 89, "all tasks are seen in some turns");
	check(turns > 0 && turns < 20, "very many tasks take several turns");
	check_u64(sleepers_counts(fixture->sleepers).tasks, 89, "all tasks are counted");
	made_xa_slot(fixture->made, root - 2, 5, 0);
	memory_refresh(fixture->made->guest.memory);
	while (turn(fixture, 11 * S) == OS_WAITS_MORE)
		;
	check_u64(sleepers_counts(fixture->sleepers).tasks, 59,
		  "tasks that are gone are forgotten");
	end(fixture);
}

static bool is_over(void *context)
{
	(void)context;
	return true;
}

/* The thread's work ends when a pass begins: from then on nothing can be read. */
static void test_end(struct fixture *fixture)
{
	struct work work = { .ends = is_over };

	begin(fixture);
	for (uint32_t pid = 1; pid < 60; pid++)
		sleeper(fixture, pid, 1);
	while (turn(fixture, 10 * S) == OS_WAITS_MORE)
		;
	memory_set_work(fixture->made->guest.memory, &work);
	check(turn(fixture, 11 * S) == OS_WAITS_MORE && turn(fixture, 11 * S) == OS_WAITS_MORE,
	      "a pass that ended early is not whole");
	check_u64(sleepers_counts(fixture->sleepers).passes, 1, "number of passes");
	check_u64(sleepers_counts(fixture->sleepers).tasks, 59, "number of tasks in each pass");
	memory_set_work(fixture->made->guest.memory, NULL);
	end(fixture);
}

/* Tasks with the pids below N, in as many leaves of the tree. Returns its root and the last task. */
static uint64_t make_sleepers(struct fixture *fixture, uint32_t n, uint64_t *task)
{
	uint64_t root;

	memory_read_u64(fixture->made->guest.memory, fixture->made->guest.root,
			fixture->ns + made_offset(fixture->made, PID_NS_IDR) +
				made_offset(fixture->made, XARRAY_HEAD),
			&root);
	for (uint32_t pid = 1; pid < n; pid++) {
		if (pid % 64 == 0) {
			fixture->leaf = made_xa_node(fixture->made, 0);
			made_xa_slot(fixture->made, root - 2, pid / 64,
				     made_xa_entry(fixture->leaf));
		}
		*task = sleeper(fixture, pid, 1);
	}
	return root;
}

/* So many tasks that their pages are copied in batches. */
static void test_very_many(struct fixture *fixture)
{
	const uint32_t n = SLEEPERS_FEW + XARRAY_NODE_SLOTS;
	struct memory_counts before, after;
	uint64_t root, task = 0, wild;
	unsigned adds = 0, stacks = 0;

	begin(fixture);
	root = make_sleepers(fixture, n, &task);
	/* One that the guest says is at the end of the addresses. */
	fixture->leaf = made_xa_node(fixture->made, 0);
	made_xa_slot(fixture->made, root - 2, n / 64, made_xa_entry(fixture->leaf));
	wild = made_object(fixture->made, GUEST_PAGE_SIZE, GUEST_PAGE_SIZE);
	made_set(fixture->made, wild, PID_TASKS,
		 0 - (uint64_t)GUEST_PAGE_SIZE / 2 + made_offset(fixture->made, TASK_PID_LINKS));
	made_xa_slot(fixture->made, fixture->leaf, n % 64, wild);
	memory_refresh(fixture->made->guest.memory);
	while (turn(fixture, 10 * S) == OS_WAITS_MORE)
		;
	made_set(fixture->made, task, TASK_SWITCHES, 11);
	before = memory_counts(fixture->made->guest.memory);
	for (bool more = true; more;) {
		more = turn(fixture, 11 * S) == OS_WAITS_MORE;
		adds += seen.adds;
		stacks += seen.stacks;
	}
	after = memory_counts(fixture->made->guest.memory);
	check_u64(adds, n - 1, "all of very many tasks are seen");
	check_u64(stacks, 1, "the task that has moved among many is read again");
	check(after.pages - before.pages > after.batches - before.batches + n / 2,
	      "%u pages in %u batches", (unsigned)(after.pages - before.pages),
	      (unsigned)(after.batches - before.batches));
	end(fixture);
}

/* More tasks than are kept: those without a place are seen as often, and their waits are as long. */
static void test_not_kept(struct fixture *fixture)
{
	const uint32_t n = SLEEPERS_MAX + XARRAY_NODE_SLOTS;
	unsigned adds = 0, stacks = 0;
	uint64_t task = 0, weight_ns = 0;

	begin(fixture);
	make_sleepers(fixture, n, &task);
	made_set(fixture->made, task, TASK_LAST_ARRIVAL, 10 * S);
	while (turn(fixture, 10 * S) == OS_WAITS_MORE)
		;
	for (bool more = true; more;) {
		more = turn(fixture, 12 * S) == OS_WAITS_MORE;
		adds += seen.adds;
		stacks += seen.stacks;
		weight_ns = seen.adds ? seen.weight_ns : weight_ns;
	}
	check_u64(adds, n - 1, "all tasks beyond the limit are in a pass");
	check_u64(stacks, n - 1 - SLEEPERS_MAX,
		  "stacks of tasks beyond the limit are read each time");
	check_u64(weight_ns, 2 * S,
		  "a look at a task beyond the limit represents the time since the last pass");
	check_u64(seen.waited_ns, 2 * S, "a task beyond the limit has the length of its wait");
	check_u64(sleepers_counts(fixture->sleepers).tasks, n - 1,
		  "tasks beyond the limit are counted");
	check_u64(sleepers_counts(fixture->sleepers).no_room, 2 * (n - 1 - SLEEPERS_MAX),
		  "looks at tasks beyond the limit are counted");
	end(fixture);
}

static void test_reused(struct fixture *fixture)
{
	uint64_t task;

	begin(fixture);
	task = sleeper(fixture, 7, 1);
	turn(fixture, 10 * S);
	made_set(fixture->made, task, TASK_START_TIME, 77);
	turn(fixture, 11 * S);
	check(seen.stacks == 1 && !seen.ends, "another task with the same pid is read again");
	made_set_u32(fixture->made, task, TASK_PID, 8);
	turn(fixture, 12 * S);
	check(!seen.adds && sleepers_counts(fixture->sleepers).unreadable == 1,
	      "a task_struct with another pid is not the task");
	end(fixture);
}

/* A new thread is seen, gives itself a name, and waits. */
static void test_named(struct fixture *fixture)
{
	uint64_t task;

	begin(fixture);
	task = sleeper(fixture, 7, 1);
	tasks_find(fixture->tasks, task, BASE + 10 * S);
	made_put_string(fixture->made->memory, fixture->made->guest.root,
			task + made_offset(fixture->made, TASK_COMM), "named");
	turn(fixture, 10 * S + TASKS_FRESH_NS / 2);
	check_string(seen.thread, "named", "a thread has the name that it has when it waits");
	end(fixture);
}

static void test_hostile(struct fixture *fixture)
{
	uint64_t root, task;

	begin(fixture);
	sleeper(fixture, 0, 1);
	turn(fixture, 9 * S);
	check(!seen.adds, "a task with the number 0 is not reported");
	task = sleeper(fixture, 7, 1);
	made_set(fixture->made, task, TASK_SP, MADE_OBJECTS);
	turn(fixture, 10 * S);
	check(!seen.adds && sleepers_counts(fixture->sleepers).unreadable == 1,
	      "a stack pointer outside of the stack gives no stack");
	made_set(fixture->made, task, TASK_SP, 0x1000);
	turn(fixture, 11 * S);
	check(!seen.adds, "a stack pointer of user code gives no stack");
	memory_read_u64(fixture->made->guest.memory, fixture->made->guest.root,
			fixture->ns + made_offset(fixture->made, PID_NS_IDR) +
				made_offset(fixture->made, XARRAY_HEAD),
			&root);
	for (unsigned i = 0; i < 64; i++)
		made_xa_slot(fixture->made, root - 2, i, root);
	memory_refresh(fixture->made->guest.memory);
	for (unsigned i = 0; turn(fixture, 12 * S) == OS_WAITS_MORE && i < 1000; i++)
		;
	check(turn(fixture, 13 * S) != OS_WAITS_NONE && !seen.adds, "a circular tree of pids ends");
	made_without(fixture->made, PID_NS_IDR);
	check(!sleepers_can_read(&fixture->made->guest),
	      "a kernel that lacks the tree cannot be read");
	end(fixture);
}

int main(void)
{
	static struct fixture fixture;

	test_one(&fixture);
	test_states(&fixture);
	test_times(&fixture);
	test_woken(&fixture);
	test_late_clock(&fixture);
	test_torn(&fixture);
	test_many(&fixture);
	test_end(&fixture);
	test_very_many(&fixture);
	test_not_kept(&fixture);
	test_reused(&fixture);
	test_named(&fixture);
	test_hostile(&fixture);
	return tap_done();
}
