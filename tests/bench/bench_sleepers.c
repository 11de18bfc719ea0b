/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a pass over 10,000 tasks that sleep costs: the first one, which reads all stacks; one in
 * which no task has moved; one in which each tenth has. 2,000 of them wait for 20 mutexes. The
 * guest's memory is made by hand, so mapping pages and unwinding are not in it. Prints CPU times;
 * compares nothing. doc/DESIGN §18 has the bound: 200 ms.
 *
 *	make && tests/bench/bench_sleepers
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "linux/process/xarray.h"
#include "linux/sleepers.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "xtop/base/clock.h"
#include "xtop/sample/sample.h"

#define N_TASKS     10000
#define N_MUTEXES   20
#define N_WAITERS   100 /* waiters of each mutex; they are the first tasks */
#define STACK_BYTES 16384
#define LIVE_BYTES  1024
#define RECORD_AT   256
#define S           1000000000ULL

static struct made_linux *made;
static uint64_t leaves[N_TASKS / XARRAY_NODE_SLOTS + 2], tasks_at[N_TASKS];
static unsigned n_adds, n_locks;

static void put(uint64_t address, uint64_t value)
{
	made_put_u64(made->memory, made->guest.root, address, value);
}

static void add(void *context, const struct os_wait *wait)
{
	(void)context;
	n_adds++;
	if (!wait->vcpu)
		return;
	*wait->kept = malloc(1);
	if (wait->task->pid <= N_MUTEXES * N_WAITERS)
		*wait->lock = OS_LOCK_MUTEX;
}

static void end_wait(void *context, void *kept, uint64_t waited_ns)
{
	(void)context;
	(void)kept;
	(void)waited_ns;
}

static void lock(void *context, const struct os_lock_wait *wait)
{
	(void)context;
	n_locks += wait->certainty == OS_HOLDER_EXACT;
}

static const struct os_waits_sink sink = { add, end_wait, lock, NULL };

/* A tree of pids with three levels. */
static void make_tree(void)
{
	uint64_t ns = made_object(made, 64, 64), top = made_xa_node(made, 12), node = 0;

	made->guest.symbols[LINUX_INIT_PID_NS] = ns;
	for (unsigned i = 0; i <= N_TASKS / XARRAY_NODE_SLOTS; i++) {
		if (i % XARRAY_NODE_SLOTS == 0) {
			node = made_xa_node(made, 6);
			made_xa_slot(made, top, i / XARRAY_NODE_SLOTS, made_xa_entry(node));
		}
		leaves[i] = made_xa_node(made, 0);
		made_xa_slot(made, node, i % XARRAY_NODE_SLOTS, made_xa_entry(leaves[i]));
	}
	put(ns + made_offset(made, PID_NS_IDR) + made_offset(made, XARRAY_HEAD),
	    made_xa_entry(top));
}

/* Only the stack's last page is there. */
static uint64_t make_sleeper(uint32_t pid)
{
	uint64_t task = made_task(made, pid, pid, "waiter", 0, 0),
		 struct_pid = made_object(made, 256, 64),
		 stack = (made->next + STACK_BYTES - 1) & ~(uint64_t)(STACK_BYTES - 1);

	made->next = stack + STACK_BYTES;
	made_map(made->memory, made->guest.root, stack + STACK_BYTES - GUEST_PAGE_SIZE,
		 GUEST_PAGE_SIZE, MADE_WRITE);
	made_set(made, task, TASK_STACK, stack);
	made_set(made, task, TASK_SP, stack + STACK_BYTES - LIVE_BYTES);
	put(stack + STACK_BYTES - LIVE_BYTES + 48, 0xffffffff81234567);
	made_set_u32(made, task, TASK_STATE, 2);
	made_set(made, task, TASK_SWITCHES, 10);
	made_set(made, struct_pid, PID_TASKS, task + made_offset(made, TASK_PID_LINKS));
	made_xa_slot(made, leaves[pid / XARRAY_NODE_SLOTS], pid % XARRAY_NODE_SLOTS, struct_pid);
	tasks_at[pid - 1] = task;
	return stack + STACK_BYTES - LIVE_BYTES + RECORD_AT;
}

/* A mutex that the next task holds, and its waiters. */
static void make_mutex(const uint64_t records[N_WAITERS], unsigned first, uint64_t holder)
{
	uint64_t mutex = made_object(made, 64, 64), head = mutex + made_offset(made, MUTEX_WAIT_LIST),
		 at = head;

	made_set(made, mutex, MUTEX_OWNER, holder | 1);
	for (unsigned i = 0; i < N_WAITERS; i++) {
		uint64_t link = records[i] + made_offset(made, MUTEX_WAITER_LIST);

		put(records[i] + made_offset(made, MUTEX_WAITER_TASK), tasks_at[first + i]);
		put(at, link);
		put(link + 8, at);
		at = link;
	}
	put(at, head);
	put(head + 8, at);
}

static void make_guest(void)
{
	static uint64_t records[N_TASKS];

	made = made_linux_create(MADE_TREE);
	make_tree();
	for (uint32_t pid = 1; pid <= N_TASKS; pid++)
		records[pid - 1] = make_sleeper(pid);
	for (unsigned i = 0; i < N_MUTEXES; i++)
		make_mutex(records + i * N_WAITERS, i * N_WAITERS, tasks_at[N_TASKS - 1 - i]);
	memory_refresh(made->guest.memory);
}

static void move(unsigned each)
{
	for (unsigned i = 0; i < N_TASKS; i += each)
		put(tasks_at[i] + made_offset(made, TASK_SWITCHES), 11 + each);
	memory_refresh(made->guest.memory);
}

static void pass(struct sleepers *sleepers, uint64_t at_s, const char *what)
{
	struct os_waits_counts before = sleepers_counts(sleepers), after;
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	n_adds = n_locks = 0;
	while (sleepers_read(sleepers, (1000000 + at_s) * S, S / 2, &sink) == OS_WAITS_MORE)
		;
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	after = sleepers_counts(sleepers);
	printf("%-24s %6.1f ms: %u tasks, %" PRIu64 " stacks, %u holders\n", what,
	       (double)cpu_ns / 1e6, n_adds, after.stacks - before.stacks, n_locks);
}

int main(void)
{
	static const struct processes_settings none = { .debug.root_fd = -1 };
	struct processes *processes;
	struct sleepers *sleepers;
	struct tasks *tasks;

	make_guest();
	must_or_die(tasks_create(&made->guest, &tasks));
	must_or_die(processes_create(&made->guest, &none, &processes));
	must_or_die(sleepers_create(&made->guest, tasks, processes, &sleepers));
	pass(sleepers, 10, "first pass");
	pass(sleepers, 11, "nothing moved");
	move(10);
	pass(sleepers, 12, "each tenth task moved");
	move(1);
	pass(sleepers, 13, "all tasks moved");
	sleepers_destroy(sleepers);
	processes_destroy(processes);
	tasks_destroy(tasks);
	made_linux_destroy(made);
	return 0;
}
