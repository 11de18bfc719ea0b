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

static struct made_linux *made;
static struct tasks *tasks;
static struct processes *processes;
static struct sleepers *sleepers;
static uint64_t ns, leaf;

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
static enum os_waits_turn turn(uint64_t now_ns)
{
	now_ns += BASE;
	seen = (struct seen){ .keeps = true };
	return sleepers_read(sleepers, now_ns, PERIOD, &sink);
}

/* --- the guest -------------------------------------------------------------------------------- */

static void begin(void)
{
	static const struct processes_settings none = { .root_fd = -1 };
	uint64_t root;

	made = made_linux_create(MADE_TREE);
	ns = made_object(made, 64, 64);
	made->guest.symbols[LINUX_INIT_PID_NS] = ns;
	root = made_xa_node(made, 6);
	leaf = made_xa_node(made, 0);
	made_xa_slot(made, root, 0, made_xa_entry(leaf));
	made_put_u64(made->memory, made->guest.root,
		     ns + made_offset(made, PID_NS_IDR) + made_offset(made, XARRAY_HEAD),
		     made_xa_entry(root));
	must(tasks_create(&made->guest, &tasks));
	must(processes_create(&made->guest, &none, &processes));
	check(sleepers_can_read(&made->guest), "a kernel with all members can be read");
	must(sleepers_create(&made->guest, tasks, processes, &sleepers));
}

static void end(void)
{
	sleepers_destroy(sleepers);
	processes_destroy(processes);
	tasks_destroy(tasks);
	made_linux_destroy(made);
}

/* A task in the leaf, asleep with 256 bytes of stack. */
static uint64_t sleeper(uint32_t pid, uint32_t state)
{
	uint64_t task = made_task(made, pid, pid, "waiter", 0, 0);
	uint64_t stack = made_object(made, STACK_BYTES, STACK_BYTES);
	uint64_t struct_pid = made_object(made, GUEST_PAGE_SIZE, GUEST_PAGE_SIZE);
	uint64_t sp = stack + STACK_BYTES - 256;

	made_set(made, task, TASK_STACK, stack);
	made_set(made, task, TASK_SP, sp);
	made_put_u64(made->memory, made->guest.root, sp + 6 * 8, RETURN);
	made_set_u32(made, task, TASK_STATE, state);
	made_set(made, task, TASK_SWITCHES, 10);
	made_set(made, struct_pid, PID_TASKS, task + made_offset(made, TASK_PID_LINKS));
	made_xa_slot(made, leaf, pid % 64, struct_pid);
	memory_refresh(made->guest.memory);
	return task;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_one(void)
{
	uint64_t task;

	begin();
	task = sleeper(7, 1);
	check(turn(10 * S) == OS_WAITS_WHOLE && seen.adds == 1 && seen.stacks == 1,
	      "a sleeping task is reported with its stack");
	check_u64(seen.pid, 7, "a sleeping task has its pid");
	check_u64(seen.rip, RETURN, "a sleeping task has the pc where it left its CPU");
	check_u64(seen.stack_bytes, 256, "a sleeping task has its stack from the stack pointer on");
	check(seen.state == OS_WAIT_SLEEPING && seen.weight_ns == PERIOD,
	      "a task's first look has state S and represents a period");
	check(turn(10 * S + 600 * MS) == OS_WAITS_WHOLE && seen.adds == 1 && !seen.stacks,
	      "a task that has not run is not read again");
	check_u64(seen.weight_ns, 600 * MS, "a look represents the time since the last pass");

	made_set(made, task, TASK_SWITCHES, 11);
	turn(11 * S);
	check(seen.ends == 1 && seen.stacks == 1, "a task that has run is read again");
	made_set_u32(made, task, TASK_ON_CPU, 1);
	turn(12 * S);
	check(!seen.adds && seen.ends == 1 && sleepers_counts(sleepers).running == 1,
	      "a task on a CPU does not wait");
	made_set_u32(made, task, TASK_ON_CPU, 0x01010100);
	turn(13 * S);
	check(seen.adds == 1, "the bytes behind on_cpu, one byte in 7.3, are ignored");
	made_set_u32(made, task, TASK_ON_CPU, 0);
	made_set_u32(made, task, TASK_EXIT_STATE, 32);
	turn(14 * S);
	check(!seen.adds, "a zombie does not wait");
	end();
}

static void test_states(void)
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

	begin();
	task = sleeper(9, 1);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		made_set_u32(made, task, TASK_STATE, states[i].state);
		turn((20 + i) * S);
		check(seen.adds == 1 && seen.state == states[i].want, "a task has its state: %x",
		      states[i].state);
	}
	end();
}

/* The guest's clock is 5 s behind ours. */
static void test_times(void)
{
	uint64_t task, other;

	begin();
	task = sleeper(7, 2);
	made_set(made, task, TASK_LAST_ARRIVAL, 10 * S);
	made_set(made, task, TASK_RUN_SUM, 900 * MS);
	made_set(made, task, TASK_RUN_SUM_THEN, 700 * MS);
	other = sleeper(5, 1);
	made_set(made, other, TASK_LAST_ARRIVAL, 95 * S - MS); /* it has just run */
	turn(100 * S);
	/* Left its CPU at 10.2 s, which is 15.2 s on our clock; the gap is too large by MS. */
	check_u64(seen.waited_ns, 100 * S - 15200 * MS - MS,
		  "a wait begins when the task left its CPU");

	made_set(made, task, TASK_SWITCHES, 11);
	made_set(made, task, TASK_LAST_ARRIVAL, 95300 * MS);
	made_set(made, task, TASK_RUN_SUM, 710 * MS);
	turn(100 * S + 500 * MS);
	check(seen.ends == 1, "a wait that is over is reported");
	check_u64(seen.ended_ns, 100301 * MS - 15201 * MS, "a wait ends when the task got a CPU");
	check_u64(seen.waited_ns, 500 * MS - 311 * MS, "the next wait begins 10 ms later");

	made_set(made, task, TASK_SWITCHES, 13);
	made_set(made, task, TASK_LAST_ARRIVAL, 90 * S);
	turn(101 * S);
	check_u64(seen.ended_ns, 189 * MS, "a wait with two runs behind it ends at the last look");
	check_u64(seen.waited_ns, 500 * MS,
		  "a wait begins after the last look that did not see it");
	/* It got a CPU at 106 s on our clock, ran for 20 ms, was preempted, and ran for 5 ms. */
	turn(105900 * MS);
	made_set(made, task, TASK_SWITCHES, 14);
	made_set(made, task, TASK_PREEMPTIONS, 1);
	made_set(made, task, TASK_LAST_ARRIVAL, 101 * S + 120 * MS - MS);
	made_set(made, task, TASK_RUN_SUM, 735 * MS);
	made_set(made, task, TASK_RUN_SUM_THEN, 730 * MS);
	made_set(made, task, TASK_RUN_DELAY, 160 * MS);
	turn(106500 * MS);
	check_u64(seen.ended_ns, 5520 * MS,
		  "a preempted task's wait ends at its first run, within half a delay");
	made_set(made, task, TASK_SWITCHES, 15);
	made_set(made, task, TASK_LAST_ARRIVAL, UINT64_MAX / 2);
	turn(102 * S);
	check(seen.waited_ns <= 1 * S,
	      "a wrong clock of the guest changes a time by no more than that");
	end();
}

/* A task is woken and has no CPU yet. */
static void test_woken(void)
{
	uint64_t task;

	begin();
	made_set(made, sleeper(5, 1), TASK_LAST_ARRIVAL, 10 * S); /* it has just run */
	task = sleeper(7, 2);
	made_set(made, task, TASK_LAST_ARRIVAL, 8 * S);
	turn(10 * S);
	made_set_u32(made, task, TASK_STATE, 0);
	made_set(made, task, TASK_LAST_QUEUED, 10400 * MS);
	turn(10500 * MS);
	check(seen.ends == 1 && seen.state == OS_WAIT_RUNNABLE,
	      "a task that was woken waits for a CPU");
	check_u64(seen.ended_ns, 2400 * MS, "a wait ends when the task was woken");
	check_u64(seen.waited_ns, 100 * MS, "a wait for a CPU begins when the task was woken");
	end();
}

/* When the looks begin, no task has run for a while, so the scheduler's clock seems to be behind. */
static void test_late_clock(void)
{
	uint64_t other;

	begin();
	made_set(made, sleeper(7, 2), TASK_LAST_ARRIVAL, 100 * S - 2500 * MS);
	other = sleeper(8, 1);
	made_set(made, other, TASK_LAST_ARRIVAL, 100 * S - 300 * MS);
	turn(100 * S);
	made_xa_slot(made, leaf, 8, 0);
	turn(100 * S + 500 * MS);
	check_u64(seen.waited_ns, 2700 * MS,
		  "a wait is measured with a clock that seems to be 300 ms behind");
	made_set(made, sleeper(8, 1), TASK_LAST_ARRIVAL, 101 * S);
	turn(101 * S);
	made_xa_slot(made, leaf, 8, 0);
	turn(101 * S + 500 * MS);
	check_u64(seen.waited_ns, 4000 * MS, "a wait is measured again when the clock is known");
	end();
}

/* The task runs and sleeps again while its stack is read. */
static uint64_t moving;
static unsigned moves;
static frame_t moving_frame;

static void on_copy(void *context, frame_t frame, const void *page, bool ok)
{
	(void)context;
	(void)page;
	(void)ok;
	if (frame.value != moving_frame.value || !moves)
		return;
	moves--;
	made_put_u64(made->memory, made->guest.root, moving + made_offset(made, TASK_SWITCHES),
		     100 + moves);
	made_put_u64(made->memory, made->guest.root,
		     moving + made_offset(made, TASK_LAST_ARRIVAL), 10 * S);
}

static void test_torn(void)
{
	const struct memory_watcher watcher = { .copy = on_copy };
	uint64_t stack;

	begin();
	made_set(made, sleeper(5, 1), TASK_LAST_ARRIVAL, 9 * S);
	turn(9 * S); /* the clock is known */
	made_xa_slot(made, leaf, 5, 0);
	moving = sleeper(7, 1);
	memory_read_u64(made->guest.memory, made->guest.root,
			moving + made_offset(made, TASK_STACK), &stack);
	moving_frame = made_frame(made->memory, made->guest.root, stack + STACK_BYTES - 256);
	memory_set_watcher(made->guest.memory, &watcher);
	made_set(made, moving, TASK_LAST_ARRIVAL, 4 * S);
	moves = 2;
	turn(10 * S);
	check(seen.adds == 1 && sleepers_counts(sleepers).retried == 2,
	      "a stack is read again if the task has run meanwhile");
	check_u64(seen.waited_ns, 0, "a stack that was read again belongs to a new wait");
	turn(10 * S + 300 * MS);
	check_u64(seen.waited_ns, 300 * MS, "a new wait begins when it was first seen");
	made_set(made, moving, TASK_SWITCHES, 50);
	moves = 100;
	turn(11 * S);
	check(!seen.adds && sleepers_counts(sleepers).left_out == 1,
	      "a task that never stands still is left out and counted");
	moves = 0;
	turn(12 * S);
	check(seen.adds == 1 && seen.stacks == 1,
	      "a task that stands still is seen at the next look");
	end();
}

/* More tasks than a turn looks at, in two leaves. */
static void test_many(void)
{
	unsigned adds = 0, turns = 0;
	uint64_t root, second;

	begin();
	for (uint32_t pid = 1; pid < 60; pid++)
		sleeper(pid, 1);
	second = leaf = made_xa_node(made, 0);
	memory_read_u64(made->guest.memory, made->guest.root,
			ns + made_offset(made, PID_NS_IDR) + made_offset(made, XARRAY_HEAD), &root);
	made_xa_slot(made, root - 2, 5, made_xa_entry(second));
	for (uint32_t pid = 320; pid < 350; pid++)
		sleeper(pid, 1);
	while (turn(10 * S) == OS_WAITS_MORE && turns++ < 100)
		adds += seen.adds;
	adds += seen.adds;
	check_u64(adds, 89, "all tasks are seen in some turns");
	check(turns > 0 && turns < 20, "very many tasks take several turns");
	check_u64(sleepers_counts(sleepers).tasks, 89, "all tasks are counted");
	made_xa_slot(made, root - 2, 5, 0);
	memory_refresh(made->guest.memory);
	while (turn(11 * S) == OS_WAITS_MORE)
		;
	check_u64(sleepers_counts(sleepers).tasks, 59, "tasks that are gone are forgotten");
	end();
}

static bool is_over(void *context)
{
	(void)context;
	return true;
}

/* The thread's work ends when a pass begins: from then on nothing can be read. */
static void test_end(void)
{
	struct work work = { .ends = is_over };

	begin();
	for (uint32_t pid = 1; pid < 60; pid++)
		sleeper(pid, 1);
	while (turn(10 * S) == OS_WAITS_MORE)
		;
	memory_set_work(made->guest.memory, &work);
	check(turn(11 * S) == OS_WAITS_MORE && turn(11 * S) == OS_WAITS_MORE,
	      "a pass that ended early is not whole");
	check_u64(sleepers_counts(sleepers).passes, 1, "number of passes");
	check_u64(sleepers_counts(sleepers).tasks, 59, "number of tasks in each pass");
	memory_set_work(made->guest.memory, NULL);
	end();
}

/* Tasks with the pids below N, in as many leaves of the tree. Returns its root and the last task. */
static uint64_t make_sleepers(uint32_t n, uint64_t *task)
{
	uint64_t root;

	memory_read_u64(made->guest.memory, made->guest.root,
			ns + made_offset(made, PID_NS_IDR) + made_offset(made, XARRAY_HEAD), &root);
	for (uint32_t pid = 1; pid < n; pid++) {
		if (pid % 64 == 0) {
			leaf = made_xa_node(made, 0);
			made_xa_slot(made, root - 2, pid / 64, made_xa_entry(leaf));
		}
		*task = sleeper(pid, 1);
	}
	return root;
}

/* So many tasks that their pages are copied in batches. */
static void test_very_many(void)
{
	const uint32_t n = SLEEPERS_FEW + XARRAY_NODE_SLOTS;
	struct memory_counts before, after;
	uint64_t root, task = 0, wild;
	unsigned adds = 0, stacks = 0;

	begin();
	root = make_sleepers(n, &task);
	/* One that the guest says is at the end of the addresses. */
	leaf = made_xa_node(made, 0);
	made_xa_slot(made, root - 2, n / 64, made_xa_entry(leaf));
	wild = made_object(made, GUEST_PAGE_SIZE, GUEST_PAGE_SIZE);
	made_set(made, wild, PID_TASKS,
		 0 - (uint64_t)GUEST_PAGE_SIZE / 2 + made_offset(made, TASK_PID_LINKS));
	made_xa_slot(made, leaf, n % 64, wild);
	memory_refresh(made->guest.memory);
	while (turn(10 * S) == OS_WAITS_MORE)
		;
	made_set(made, task, TASK_SWITCHES, 11);
	before = memory_counts(made->guest.memory);
	for (bool more = true; more;) {
		more = turn(11 * S) == OS_WAITS_MORE;
		adds += seen.adds;
		stacks += seen.stacks;
	}
	after = memory_counts(made->guest.memory);
	check_u64(adds, n - 1, "all of very many tasks are seen");
	check_u64(stacks, 1, "the task that has moved among many is read again");
	check(after.pages - before.pages > after.batches - before.batches + n / 2,
	      "%u pages in %u batches", (unsigned)(after.pages - before.pages),
	      (unsigned)(after.batches - before.batches));
	end();
}

/* More tasks than are kept: those without a place are seen as often, and their waits are as long. */
static void test_not_kept(void)
{
	const uint32_t n = SLEEPERS_MAX + XARRAY_NODE_SLOTS;
	unsigned adds = 0, stacks = 0;
	uint64_t task = 0, weight_ns = 0;

	begin();
	make_sleepers(n, &task);
	made_set(made, task, TASK_LAST_ARRIVAL, 10 * S);
	while (turn(10 * S) == OS_WAITS_MORE)
		;
	for (bool more = true; more;) {
		more = turn(12 * S) == OS_WAITS_MORE;
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
	check_u64(sleepers_counts(sleepers).tasks, n - 1, "tasks beyond the limit are counted");
	check_u64(sleepers_counts(sleepers).no_room, 2 * (n - 1 - SLEEPERS_MAX),
		  "looks at tasks beyond the limit are counted");
	end();
}

static void test_reused(void)
{
	uint64_t task;

	begin();
	task = sleeper(7, 1);
	turn(10 * S);
	made_set(made, task, TASK_START_TIME, 77);
	turn(11 * S);
	check(seen.stacks == 1 && !seen.ends, "another task with the same pid is read again");
	made_set_u32(made, task, TASK_PID, 8);
	turn(12 * S);
	check(!seen.adds && sleepers_counts(sleepers).unreadable == 1,
	      "a task_struct with another pid is not the task");
	end();
}

/* A new thread is seen, gives itself a name, and waits. */
static void test_named(void)
{
	uint64_t task;

	begin();
	task = sleeper(7, 1);
	tasks_find(tasks, task, BASE + 10 * S);
	made_put_string(made->memory, made->guest.root, task + made_offset(made, TASK_COMM), "named");
	turn(10 * S + TASKS_FRESH_NS / 2);
	check_string(seen.thread, "named", "a thread has the name that it has when it waits");
	end();
}

static void test_hostile(void)
{
	uint64_t root, task;

	begin();
	sleeper(0, 1);
	turn(9 * S);
	check(!seen.adds, "a task with the number 0 is not reported");
	task = sleeper(7, 1);
	made_set(made, task, TASK_SP, MADE_OBJECTS);
	turn(10 * S);
	check(!seen.adds && sleepers_counts(sleepers).unreadable == 1,
	      "a stack pointer outside of the stack gives no stack");
	made_set(made, task, TASK_SP, 0x1000);
	turn(11 * S);
	check(!seen.adds, "a stack pointer of user code gives no stack");
	memory_read_u64(made->guest.memory, made->guest.root,
			ns + made_offset(made, PID_NS_IDR) + made_offset(made, XARRAY_HEAD), &root);
	for (unsigned i = 0; i < 64; i++)
		made_xa_slot(made, root - 2, i, root);
	memory_refresh(made->guest.memory);
	for (unsigned i = 0; turn(12 * S) == OS_WAITS_MORE && i < 1000; i++)
		;
	check(turn(13 * S) != OS_WAITS_NONE && !seen.adds, "a circular tree of pids ends");
	made_without(made, PID_NS_IDR);
	check(!sleepers_can_read(&made->guest), "a kernel that lacks the tree cannot be read");
	end();
}

int main(void)
{
	test_one();
	test_states();
	test_times();
	test_woken();
	test_late_clock();
	test_torn();
	test_many();
	test_end();
	test_very_many();
	test_not_kept();
	test_reused();
	test_named();
	test_hostile();
	return tap_done();
}
