/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks by their kernel stacks, before any task is known: by words of the stack, by all tasks. */
#include "config.h"

#include "linux/process/task_stacks.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define STACK_BYTES 16384
#define LATER_NS    1000000000ULL

static struct made_linux *made;
static struct tasks *tasks;
static struct task_stacks stacks;
static uint64_t task, start, top;

/* A task with a stack; neither is known to TASKS. */
static void begin(void)
{
	made = made_linux_create(MADE_TREE);
	must(tasks_create(&made->guest, &tasks));
	stacks = (struct task_stacks){ .guest = &made->guest };
	task = made_task(made, 100, 100, "server", MADE_OBJECTS + 0x100000, 0);
	start = made_object(made, STACK_BYTES, 4096);
	top = start + STACK_BYTES;
	made_set(made, task, TASK_STACK, start);
}

static void end(void)
{
	tasks_destroy(tasks);
	made_linux_destroy(made);
}

static void put(uint64_t address, uint64_t word)
{
	made_put(made->memory, made->guest.root, address, &word, sizeof(word));
	memory_refresh(made->guest.memory);
}

static uint64_t find(uint64_t now_ns)
{
	return task_stacks_find(&stacks, tasks, top, now_ns);
}

static void test_stack(void)
{
	uint64_t other;

	begin();
	check_u64(find(LATER_NS), 0, "an empty stack and no known task give no task");
	put(top - 0x800, task);
	check_u64(find(LATER_NS + 1), 0, "a failed search is not repeated at once");
	check_u64(find(2 * LATER_NS), task, "a stack that holds its task's address gives the task");
	check_u64(stacks.any_task, task,
		  "a task that was found leads to the namespace of all tasks");

	other = made_task(made, 7, 7, "other", MADE_OBJECTS + 0x100000, 0);
	put(top - 0x400, other);
	check_u64(find(3 * LATER_NS), task,
		  "another task's address nearer to the end is not believed");
	put(top - 0x800, task + 8);
	check_u64(find(4 * LATER_NS), 0, "an address within the task is not believed");
	put(start + 8, task);
	check_u64(find(5 * LATER_NS), task, "the task's address at the stack's other end is found");
	made_set(made, task, TASK_STACK, start + 4096);
	check_u64(find(6 * LATER_NS), 0, "a task that has another stack now is not believed");
	end();
}

/* So many words that may be tasks cost no more than a few hundred reads. */
static void test_hostile(void)
{
	begin();
	for (unsigned i = 0; i < STACK_BYTES / 16; i++) {
		put(start + 16 * i, MADE_OBJECTS + 0x200000 + 128 * i);
		put(start + 16 * i + 8, task + 64 + 64 * (i & 1));
	}
	put(start, task);
	check_u64(find(LATER_NS), 0, "a stack full of addresses ends the search");
	put(top - 8, task);
	check_u64(find(2 * LATER_NS), task, "the address nearest to the end is tried first");
	made_without(made, TASK_STACK);
	check_u64(find(3 * LATER_NS), 0, "a kernel whose tasks have no stack gives no task");
	end();
}

/* init_pid_ns has one task: the head of its xarray is the struct pid itself. */
static void test_walk(void)
{
	uint64_t ns, pid;

	begin();
	ns = made_object(made, 64, 64);
	pid = made_object(made, 256, 64);
	made_set(made, pid, PID_TASKS, task + made_offset(made, TASK_PID_LINKS));
	put(ns + made_offset(made, PID_NS_IDR) + made_offset(made, XARRAY_HEAD), pid);
	made->guest.symbols[LINUX_INIT_PID_NS] = ns;
	check_u64(find(LATER_NS), task, "a task is found in the list of all tasks");
	made->guest.symbols[LINUX_INIT_PID_NS] = 0;
	check(tasks_find(tasks, task, 2 * LATER_NS) != NULL, "a task that was found is kept");
	check_u64(find(2 * LATER_NS), task, "a kept task is found by its stack");
	end();
}

/* A kernel that does not name init_pid_ns: any task's first number is one of that namespace. */
static void test_namespace(void)
{
	uint64_t pid, init, ns, node;

	begin();
	pid = made_object(made, 256, 64);
	init = made_object(made, 256, 64);
	ns = made_object(made, 64, 64);
	node = made_xa_node(made, 0);
	made_set(made, init, PID_TASKS, task + made_offset(made, TASK_PID_LINKS));
	put(ns + made_offset(made, PID_NS_IDR) + made_offset(made, XARRAY_HEAD), made_xa_entry(node));
	put(pid + made_offset(made, PID_NUMBERS) + made_offset(made, UPID_NS), ns);
	made_set_u32(made, pid, PID_LEVEL, 1);
	check_u64(task_stacks_find_namespace(&stacks), 0, "no known task leads to no namespace");
	made_set(made, task, TASK_THREAD_PID, pid);
	task_stacks_learn(&stacks, task);
	check_u64(task_stacks_find_namespace(&stacks), 0,
		  "an object without a first process is no namespace");
	made_xa_slot(made, node, 1, init);
	memory_refresh(made->guest.memory);
	check_u64(task_stacks_find_namespace(&stacks), ns,
		  "a task of an inner namespace leads to the outermost one");
	put(pid + made_offset(made, PID_NUMBERS) + made_offset(made, UPID_NS), 0x40);
	check_u64(task_stacks_find_namespace(&stacks), 0,
		  "an address that is not the kernel's is no namespace");
	made->guest.symbols[LINUX_INIT_PID_NS] = MADE_OBJECTS;
	check_u64(task_stacks_find_namespace(&stacks), MADE_OBJECTS,
		  "init_pid_ns is used if the kernel names it");
	end();
}

int main(void)
{
	test_namespace();
	test_stack();
	test_hostile();
	test_walk();
	return tap_done();
}
