/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads and processes by task_struct: their names, when they are read, what is refused. */
#include "config.h"

#include "linux/process/tasks.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define MS 1000000ULL

static struct made_linux *made;
static struct tasks *tasks;

static void begin(void)
{
	made = made_linux_create(MADE_TREE);
	must(tasks_create(&made->guest, &tasks));
}

static void end(void)
{
	tasks_destroy(tasks);
	made_linux_destroy(made);
}

static void test_kinds(void)
{
	uint64_t mm = MADE_OBJECTS + 0x100000;
	uint64_t leader, thread, kernel, idle;
	const struct task *task;

	begin();
	leader = made_task(made, 100, 100, "server", mm, 0);
	thread = made_task(made, 103, 100, "worker-2", mm, leader);
	kernel = made_task(made, 12, 12, "ksoftirqd/0", 0, 0);
	idle = made_task(made, 0, 0, "swapper/0", 0, 0);

	task = tasks_find(tasks, leader, 0);
	check(task && task->pid == 100 && task->tgid == 100 && task->mm == mm &&
		      task->address == leader && task->start_time == 1000100,
	      "a process has its pid, tgid, mm and start time");
	check_string(task ? task->comm : NULL, "server", "a process's thread has its name");
	check_string(task ? task->process : NULL, "server", "a process has its name");
	check(task && !task->kernel_thread && !task->idle,
	      "a process is neither a kernel thread nor idle");

	task = tasks_find(tasks, thread, 0);
	check(task && task->pid == 103 && task->tgid == 100, "a thread has its pid and tgid");
	check_string(task ? task->comm : NULL, "worker-2", "a thread has its name");
	check_string(task ? task->process : NULL, "server", "a thread has its process's name");

	task = tasks_find(tasks, kernel, 0);
	check(task && task->kernel_thread && !task->idle && !task->mm,
	      "a kernel thread is recognised");
	made_set(made, kernel, TASK_MM, mm);
	task = tasks_find(tasks, kernel, 2 * TASKS_FRESH_NS);
	check(task && task->kernel_thread && !task->mm,
	      "a kernel thread that borrows a process's mm has none");
	task = tasks_find(tasks, idle, 0);
	check(task && task->idle && task->kernel_thread, "the idle task is recognised");

	made_set(made, leader, TASK_MM, 0);
	task = tasks_find(tasks, leader, 2 * TASKS_FRESH_NS);
	check(task && !task->mm && !task->kernel_thread,
	      "a process about to end has no mm, and is no kernel thread");
	end();
}

/* The name is kept with the task, and read again with it. */
static void test_cgroup(void)
{
	uint64_t mm = MADE_OBJECTS + 0x100000, address, root, unit;
	const struct task *task;

	begin();
	address = made_task(made, 100, 100, "server", mm, 0);
	root = made_cgroup(made, 0, "");
	unit = made_cgroup(made, made_cgroup(made, root, "system.slice"), "server.service");
	made_set_cgroup(made, address, unit);
	task = tasks_find(tasks, address, 0);
	check_string(task ? task->cgroup : NULL, "server.service", "a task has its control group");
	made_set_cgroup(made, address, root);
	task = tasks_find(tasks, address, 1);
	check_string(task ? task->cgroup : NULL, "server.service",
		     "a task's control group is kept with the task");
	task = tasks_find(tasks, address, 2 * TASKS_FRESH_NS);
	check_string(task ? task->cgroup : NULL, "", "a task that moved to the root has no group");
	check_u64(tasks_counts(tasks).cgroups_unreadable, 0,
		  "number of unreadable groups while all can be read");
	made_set(made, address, TASK_CGROUPS, 0xffffffffdead0000);
	task = tasks_find(tasks, address, 4 * TASKS_FRESH_NS);
	check_string(task ? task->cgroup : NULL, "", "a group that cannot be read is empty");
	check_u64(tasks_counts(tasks).cgroups_unreadable, 1,
		  "number of unreadable groups after one failed");
	made_without(made, TASK_CGROUPS);
	task = tasks_find(tasks, address, 6 * TASKS_FRESH_NS);
	check_string(task ? task->cgroup : NULL, "",
		     "a kernel without control groups gives no group");
	check_u64(tasks_counts(tasks).cgroups_unreadable, 1,
		  "number of unreadable groups in a kernel without groups");
	end();
}

/* An interpreter's process is told by its program, too, and so is a thread that is named alike. */
static void test_script(void)
{
	static const char line[] = "python3\0-u\0/srv/app.py\0--password=secret";
	uint64_t mm, leader, alike, other;
	const struct task *task;

	begin();
	mm = made_mm(made, NULL, 0);
	leader = made_task(made, 100, 100, "python3", mm, 0);
	alike = made_task(made, 101, 100, "python3", mm, leader);
	other = made_task(made, 102, 100, "worker", mm, leader);
	task = tasks_find(tasks, leader, 0);
	check_string(task ? task->process : NULL, "python3",
		     "a process has its own name before its command line is there");
	made_put(made->memory, made_mm_root(made, mm), 0x7ffe00000000, line, sizeof(line));
	made_set(made, mm, MM_ARG_START, 0x7ffe00000000);
	made_set(made, mm, MM_ARG_END, 0x7ffe00000000 + sizeof(line));
	memory_refresh(made->guest.memory);
	task = tasks_find(tasks, leader, 2 * TASKS_FRESH_NS);
	check_string(task ? task->process : NULL, "python3 app.py",
		     "an interpreter's process has the program's name, and no argument");
	check_string(task ? task_thread_name(task) : NULL, "python3 app.py",
		     "its first thread has the process's name");
	task = tasks_find(tasks, alike, 2 * TASKS_FRESH_NS);
	check_string(task ? task_thread_name(task) : NULL, "python3 app.py",
		     "a thread that is named alike has the process's name");
	task = tasks_find(tasks, other, 2 * TASKS_FRESH_NS);
	check_string(task ? task_thread_name(task) : NULL, "worker",
		     "a thread with a name of its own has that");
	check_string(task ? task->process : NULL, "python3 app.py",
		     "the process of such a thread has the program's name");
	made_set(made, leader, TASK_COMM, 0x6e726f63696e7567); /* gunicorn */
	task = tasks_find(tasks, leader, 4 * TASKS_FRESH_NS);
	check_string(task ? task->process : NULL, "gunicorn",
		     "a process with a name of its own has no other");
	end();
}

/* Another task may have the leader's task_struct: the leader's pid must be the tgid. */
static void test_leader(void)
{
	uint64_t mm = MADE_OBJECTS + 0x100000, leader, thread;
	const struct task *task;

	begin();
	leader = made_task(made, 100, 100, "server", mm, 0);
	thread = made_task(made, 103, 100, "worker", mm, leader);
	made_set_u32(made, leader, TASK_PID, 999);
	task = tasks_find(tasks, thread, 0);
	check_string(task ? task->process : NULL, "worker",
		     "a leader's task_struct with another task gives no process name");
	made_set(made, thread, TASK_GROUP_LEADER, 0xffffffffdead0000);
	task = tasks_find(tasks, thread, 2 * TASKS_FRESH_NS);
	check_string(task ? task->process : NULL, "worker",
		     "a leader that cannot be read gives no process name");
	made_set(made, thread, TASK_GROUP_LEADER, 0x1234);
	check(!tasks_find(tasks, thread, 4 * TASKS_FRESH_NS),
	      "a leader that is no kernel pointer is refused");
	end();
}

static void test_changes(void)
{
	uint64_t mm = MADE_OBJECTS + 0x100000, address;
	const struct task *task;
	char name[16] = "after";

	begin();
	address = made_task(made, 100, 100, "before", mm, 0);
	tasks_find(tasks, address, 1 * MS);
	check_u64(tasks_counts(tasks).reads, 1, "number of reads of a new task");
	made_put(made->memory, made->guest.root, address + made_offset(made, TASK_COMM), name,
		 sizeof(name));
	memory_refresh(made->guest.memory);
	task = tasks_find(tasks, address, 1 * MS + TASKS_FRESH_NS - 1);
	check_string(task ? task->comm : NULL, "before",
		     "a task that was just read is not read again");
	check_u64(tasks_counts(tasks).reads, 1, "number of reads of a task that was just read");
	task = tasks_find(tasks, address, 1 * MS + TASKS_FRESH_NS);
	check_string(task ? task->comm : NULL, "after",
		     "a task that was read again has its new name");
	check_u64(tasks_counts(tasks).reads, 2, "number of reads after the time has passed");

	made_set_u32(made, address, TASK_PID, 4444);
	made_set_u32(made, address, TASK_TGID, 4444);
	task = tasks_find(tasks, address, 300 * MS);
	check(task && task->pid == 4444, "another task in the same task_struct is read");
	task = tasks_find(tasks, address, 290 * MS);
	check(task && tasks_counts(tasks).reads == 4,
	      "the clock goes backwards: the task is read again");
	end();
}

/* The task_struct of a task that was just read has another task, another program, or none. */
static void test_reuse(void)
{
	uint64_t mm = MADE_OBJECTS + 0x100000, address;
	const struct task *task;

	begin();
	address = made_task(made, 100, 100, "first", mm, 0);
	made_set_u32(made, address, TASK_SELF_EXEC_ID, 7);
	tasks_find(tasks, address, 0);
	made_set_u32(made, address, TASK_PID, 101);
	made_set_u32(made, address, TASK_TGID, 101);
	task = tasks_find(tasks, address, 1 * MS);
	check(task && task->pid == 101 && task->tgid == 101,
	      "a task with another pid is read at once");
	made_set_u32(made, address, TASK_SELF_EXEC_ID, 8);
	made_set(made, address, TASK_MM, mm + 0x400);
	task = tasks_find(tasks, address, 2 * MS);
	check(task && task->exec_id == 8 && task->mm == mm + 0x400,
	      "a task that called exec() is read at once");
	tasks_find(tasks, address, 3 * MS);
	check_u64(tasks_counts(tasks).reads, 3, "the same task in the same program is not read");
	made_set(made, address, TASK_MM, 0);
	task = tasks_find(tasks, address, 3 * MS);
	check(task && !task->mm && !task->kernel_thread, "a task that has ended is read at once");
	made_without(made, TASK_SELF_EXEC_ID);
	tasks_invalidate(tasks, address);
	tasks_find(tasks, address, 3 * MS);
	task = tasks_find(tasks, address, 4 * MS);
	check(task && !task->exec_id && tasks_counts(tasks).reads == 5,
	      "a kernel that does not count exec() calls reads no task early");
	end();
}

/* Tasks by their kernel stacks: during a switch, current is not yet the task that runs. */
static void test_stacks(void)
{
	const uint64_t stack = 0xffffc90000200000ULL;
	uint64_t mm = MADE_OBJECTS + 0x100000, first, second;
	const struct task *task;
	size_t slot = 0;

	begin();
	first = made_task(made, 100, 100, "first", mm, 0);
	second = made_task(made, 101, 101, "second", mm, 0);
	made_set(made, first, TASK_STACK, stack);
	made_set(made, second, TASK_STACK, stack + 0x4000);
	check_u64(tasks_find_on_stack(tasks, stack + 0x100), 0,
		  "no stack leads to a task before one is found");
	tasks_find(tasks, first, 0);
	task = tasks_find(tasks, second, 0);
	check(task && tasks_is_on_stack(tasks, task, stack + 0x4000) &&
		      tasks_is_on_stack(tasks, task, stack + 0x7fff) &&
		      !tasks_is_on_stack(tasks, task, stack + 0x3fff) &&
		      !tasks_is_on_stack(tasks, task, stack + 0x8000),
	      "a stack has 16 KiB from its first byte on");
	check_u64(tasks_find_on_stack(tasks, stack + 0x100), first,
		  "an address in the first task's stack leads to it");
	check_u64(tasks_find_on_stack(tasks, stack + 0x4100), second,
		  "an address in the second task's stack leads to it");
	check_u64(tasks_find_on_stack(tasks, stack + 0x8000), 0,
		  "an address in no stack leads to no task");
	check_u64(tasks_find_of_process(tasks, 101, &slot), second,
		  "a process's number leads to its task");
	check_u64(tasks_find_of_process(tasks, 101, &slot), 0, "a process's only task is its last one");
	slot = 0;
	check_u64(tasks_find_of_process(tasks, 7, &slot), 0, "no task is kept of another process");
	made_set(made, second, TASK_STACK, stack);
	tasks_find(tasks, second, 2 * TASKS_FRESH_NS);
	check_u64(tasks_find_on_stack(tasks, stack + 0x100), second,
		  "of two tasks with one stack the one found last is returned");
	tasks_find(tasks, first, 2 * TASKS_FRESH_NS);
	check_u64(tasks_find_on_stack(tasks, stack + 0x100), first,
		  "the other task with the stack is returned when it was found last");
	made_set(made, first, TASK_STACK, 0x1000);
	task = tasks_find(tasks, first, 4 * TASKS_FRESH_NS);
	check(task && !task->stack && !tasks_is_on_stack(tasks, task, 0x1100),
	      "a stack that is no kernel pointer is unknown");
	end();
}

static void test_refused(void)
{
	uint64_t mm = MADE_OBJECTS + 0x100000, address;
	char unterminated[16] = "0123456789abcdef";

	begin();
	address = made_task(made, 100, 100, "name", mm, 0);
	check(!tasks_find(tasks, 0, 0), "address 0 is no task");
	check(!tasks_find(tasks, 0x7f0000001000, 0), "a user address is no task");
	check_u64(tasks_counts(tasks).refused, 2, "number of refused addresses");
	check(!tasks_find(tasks, 0xffffffffa0000000, 0), "a task on a missing page is not read");
	check(!tasks_find(tasks, UINT64_MAX - 7, 0),
	      "a task at the end of the address space is not read");
	check_u64(tasks_counts(tasks).unreadable, 2, "number of unreadable tasks");
	made_set_u32(made, address, TASK_PID, (4U << 20) + 1);
	check(!tasks_find(tasks, address, 0), "a pid beyond the kernel's limit is refused");
	made_set_u32(made, address, TASK_PID, 100);
	made_set_u32(made, address, TASK_TGID, UINT32_MAX);
	check(!tasks_find(tasks, address, 0), "a tgid beyond the kernel's limit is refused");
	made_set_u32(made, address, TASK_TGID, 100);
	made_set(made, address, TASK_MM, 0x5555);
	check(!tasks_find(tasks, address, 0), "an mm that is no kernel pointer is refused");
	made_set(made, address, TASK_MM, mm);
	made_put(made->memory, made->guest.root, address + made_offset(made, TASK_COMM),
		 unterminated, 16);
	memory_refresh(made->guest.memory);
	check(!tasks_find(tasks, address, 0), "a name that does not end is refused");
	check_u64(tasks_counts(tasks).refused, 6, "number of refused tasks");
	check_u64(tasks_counts(tasks).kept, 0, "number of kept tasks after refusals");
	end();
}

/*
 * Where a kernel thread was, there is a process now. A copy of the page, from before, still has the
 * kernel thread.
 */
static void test_one_read(void)
{
	uint64_t mm = MADE_OBJECTS + 0x100000, address;
	const uint32_t flags = 0x400000;
	const struct task *task;
	uint64_t stack;

	begin();
	do /* ends if the name is on another page than flags and stack */
		address = made_task(made, 100, 100, "kworker/0:1", 0, 0);
	while ((address + made_offset(made, TASK_FLAGS)) / GUEST_PAGE_SIZE ==
	       (address + made_offset(made, TASK_MM)) / GUEST_PAGE_SIZE);
	made_set(made, address, TASK_STACK, MADE_OBJECTS + 0x200000);
	task = tasks_find(tasks, address, 0);
	check(task && task->kernel_thread && task->stack == MADE_OBJECTS + 0x200000,
	      "i386: a kernel thread has its stack");
	made_put(made->memory, made->guest.root, address + made_offset(made, TASK_COMM), "server",
		 sizeof("server"));
	made_put(made->memory, made->guest.root, address + made_offset(made, TASK_MM), &mm,
		 sizeof(mm));
	stack = MADE_OBJECTS + 0x300000;
	made_put(made->memory, made->guest.root, address + made_offset(made, TASK_STACK), &stack,
		 sizeof(stack));
	made_put(made->memory, made->guest.root, address + made_offset(made, TASK_FLAGS), &flags,
		 sizeof(flags));
	tasks_invalidate(tasks, address);
	task = tasks_find(tasks, address, 0);
	check_string(task ? task->comm : NULL, "server", "i386: a task has its process's name");
	check(task && !task->kernel_thread && task->mm == mm, "i386: a task has its flags");
	check_u64(task ? task->stack : 0, stack, "i386: a task has its stack");
	end();
}

/* A fork bomb. */
static void test_bound(void)
{
	uint64_t mm = MADE_OBJECTS + 0x100000, first;
	struct tasks_counts counts;
	const struct task *task;

	begin();
	first = made_task(made, 1, 1, "bomb", mm, 0);
	for (uint32_t pid = 2; pid <= 5000; pid++) {
		uint64_t address = made_task(made, pid, pid, "bomb", mm, 0);

		task = tasks_find(tasks, address, pid * MS);
		if (!task || task->pid != pid)
			check(false, "task %u", pid);
	}
	counts = tasks_counts(tasks);
	check(counts.kept <= TASKS_MAX && counts.kept > TASKS_MAX / 2, "tasks kept: %u",
	      counts.kept);
	check_u64(counts.evicted, 4999 - counts.kept, "tasks beyond the limit are evicted");
	task = tasks_find(tasks, first, 6000 * MS);
	check(task && task->pid == 1, "a task that made room is read again");
	end();
}

static void test_layout(void)
{
	struct xtop_error *error;

	made = made_linux_create(MADE_TREE);
	made_without(made, TASK_START_TIME);
	error = tasks_create(&made->guest, &tasks);
	check(!error, "a kernel without start_time has tasks");
	tasks_destroy(tasks);
	made_without(made, TASK_COMM);
	tasks = NULL;
	error = tasks_create(&made->guest, &tasks);
	check(error && !tasks, "a kernel without comm is refused");
	error_destroy(error);
	made->guest.layout.values[TASK_COMM] = LAYOUT_MAX - 1;
	error = tasks_create(&made->guest, &tasks);
	check(error && !tasks, "a task_struct of 64 KiB is refused");
	error_destroy(error);
	made_linux_destroy(made);
}

int main(void)
{
	test_kinds();
	test_cgroup();
	test_script();
	test_leader();
	test_changes();
	test_reuse();
	test_stacks();
	test_refused();
	test_one_read();
	test_bound();
	test_layout();
	return tap_done();
}
