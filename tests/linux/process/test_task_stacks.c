/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks by their kernel stacks, before any task is known: by words of the stack, by all tasks. */
#include "config.h"

#include "linux/process/task_stacks.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define STACK_BYTES 16384
#define LATER_NS    1000000000ULL

struct fixture {
	struct made_linux *made;
	struct tasks *tasks;
	struct task_stacks stacks;
	uint64_t task, start, top; /* a task, and the bounds of its stack */
};

/* A task with a stack; neither is known to TASKS. */
static void begin(struct fixture *fixture)
{
	fixture->made = made_linux_create(MADE_TREE);
	must(tasks_create(&fixture->made->guest, &fixture->tasks));
	fixture->stacks = (struct task_stacks){ .guest = &fixture->made->guest };
	fixture->task = made_task(fixture->made, 100, 100, "server", MADE_OBJECTS + 0x100000, 0);
	fixture->start = made_object(fixture->made, STACK_BYTES, 4096);
	fixture->top = fixture->start + STACK_BYTES;
	made_set(fixture->made, fixture->task, TASK_STACK, fixture->start);
}

static void end(struct fixture *fixture)
{
	tasks_destroy(fixture->tasks);
	made_linux_destroy(fixture->made);
}

static void put(struct fixture *fixture, uint64_t address, uint64_t word)
{
	made_put(fixture->made->memory, fixture->made->guest.root, address, &word, sizeof(word));
	memory_refresh(fixture->made->guest.memory);
}

static uint64_t find(struct fixture *fixture, uint64_t now_ns)
{
	return task_stacks_find(&fixture->stacks, fixture->tasks, fixture->top, now_ns);
}

static void test_stack(struct fixture *fixture)
{
	uint64_t other;

	begin(fixture);
	check_u64(find(fixture, LATER_NS), 0, "an empty stack and no known task give no task");
	put(fixture, fixture->top - 0x800, fixture->task);
	check_u64(find(fixture, LATER_NS + 1), 0, "a failed search is not repeated at once");
	check_u64(find(fixture, 2 * LATER_NS), fixture->task,
		  "a stack that holds its task's address gives the task");
	check_u64(fixture->stacks.any_task, fixture->task,
		  "a task that was found leads to the namespace of all tasks");

	other = made_task(fixture->made, 7, 7, "other", MADE_OBJECTS + 0x100000, 0);
	put(fixture, fixture->top - 0x400, other);
	check_u64(find(fixture, 3 * LATER_NS), fixture->task,
		  "another task's address nearer to the end is not believed");
	put(fixture, fixture->top - 0x800, fixture->task + 8);
	check_u64(find(fixture, 4 * LATER_NS), 0, "an address within the task is not believed");
	put(fixture, fixture->start + 8, fixture->task);
	check_u64(find(fixture, 5 * LATER_NS), fixture->task,
		  "the task's address at the stack's other end is found");
	made_set(fixture->made, fixture->task, TASK_STACK, fixture->start + 4096);
	check_u64(find(fixture, 6 * LATER_NS), 0,
		  "a task that has another stack now is not believed");
	end(fixture);
}

/* So many words that may be tasks cost no more than a few hundred reads. */
static void test_hostile(struct fixture *fixture)
{
	begin(fixture);
	for (unsigned i = 0; i < STACK_BYTES / 16; i++) {
		put(fixture, fixture->start + 16 * i, MADE_OBJECTS + 0x200000 + 128 * i);
		put(fixture, fixture->start + 16 * i + 8, fixture->task + 64 + 64 * (i & 1));
	}
	put(fixture, fixture->start, fixture->task);
	check_u64(find(fixture, LATER_NS), 0, "a stack full of addresses ends the search");
	put(fixture, fixture->top - 8, fixture->task);
	check_u64(find(fixture, 2 * LATER_NS), fixture->task,
		  "the address nearest to the end is tried first");
	made_without(fixture->made, TASK_STACK);
	check_u64(find(fixture, 3 * LATER_NS), 0,
		  "a kernel whose tasks have no stack gives no task");
	end(fixture);
}

/* init_pid_ns has one task: the head of its xarray is the struct pid itself. */
static void test_walk(struct fixture *fixture)
{
	uint64_t ns, pid;

	begin(fixture);
	ns = made_object(fixture->made, 64, 64);
	pid = made_object(fixture->made, 256, 64);
	made_set(fixture->made, pid, PID_TASKS,
		 fixture->task + made_offset(fixture->made, TASK_PID_LINKS));
	put(fixture,
	    ns + made_offset(fixture->made, PID_NS_IDR) + made_offset(fixture->made, XARRAY_HEAD),
	    pid);
	fixture->made->guest.symbols[LINUX_INIT_PID_NS] = ns;
	check_u64(find(fixture, LATER_NS), fixture->task,
		  "a task is found in the list of all tasks");
	fixture->made->guest.symbols[LINUX_INIT_PID_NS] = 0;
	check(tasks_find(fixture->tasks, fixture->task, 2 * LATER_NS) != NULL,
	      "a task that was found is kept");
	check_u64(find(fixture, 2 * LATER_NS), fixture->task, "a kept task is found by its stack");
	end(fixture);
}

/* A kernel that does not name init_pid_ns: any task's first number is one of that namespace. */
static void test_namespace(struct fixture *fixture)
{
	uint64_t pid, init, ns, node;

	begin(fixture);
	pid = made_object(fixture->made, 256, 64);
	init = made_object(fixture->made, 256, 64);
	ns = made_object(fixture->made, 64, 64);
	node = made_xa_node(fixture->made, 0);
	made_set(fixture->made, init, PID_TASKS,
		 fixture->task + made_offset(fixture->made, TASK_PID_LINKS));
	put(fixture,
	    ns + made_offset(fixture->made, PID_NS_IDR) + made_offset(fixture->made, XARRAY_HEAD),
	    made_xa_entry(node));
	put(fixture,
	    pid + made_offset(fixture->made, PID_NUMBERS) + made_offset(fixture->made, UPID_NS),
	    ns);
	made_set_u32(fixture->made, pid, PID_LEVEL, 1);
	check_u64(task_stacks_find_namespace(&fixture->stacks), 0,
		  "no known task leads to no namespace");
	made_set(fixture->made, fixture->task, TASK_THREAD_PID, pid);
	task_stacks_learn(&fixture->stacks, fixture->task);
	check_u64(task_stacks_find_namespace(&fixture->stacks), 0,
		  "an object without a first process is no namespace");
	made_xa_slot(fixture->made, node, 1, init);
	memory_refresh(fixture->made->guest.memory);
	check_u64(task_stacks_find_namespace(&fixture->stacks), ns,
		  "a task of an inner namespace leads to the outermost one");
	put(fixture,
	    pid + made_offset(fixture->made, PID_NUMBERS) + made_offset(fixture->made, UPID_NS),
	    0x40);
	check_u64(task_stacks_find_namespace(&fixture->stacks), 0,
		  "an address that is not the kernel's is no namespace");
	fixture->made->guest.symbols[LINUX_INIT_PID_NS] = MADE_OBJECTS;
	check_u64(task_stacks_find_namespace(&fixture->stacks), MADE_OBJECTS,
		  "init_pid_ns is used if the kernel names it");
	end(fixture);
}

int main(void)
{
	static struct fixture fixture;

	test_namespace(&fixture);
	test_stack(&fixture);
	test_hostile(&fixture);
	test_walk(&fixture);
	return tap_done();
}
