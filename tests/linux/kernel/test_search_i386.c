/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is found in a 32-bit kernel without names of data and without BTF: its page tables, its running
 * task, and where a task has its names.
 */
#include "config.h"

#include "linux/kernel/layout_32.h"
#include "linux/kernel/search.h"
#include "linux/process/tasks.h"
#include "tests/support/made_i386.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/memory/walk.h"

static struct made_i386 *made;

static void test_symbols(void)
{
	made_i386_begin(made, true);
	made_i386_search(made);
	check_u64(made->guest.symbols[LINUX_PAGE_TABLES], MADE_BASE + MADE_OWN,
		  "the kernel's own page tables are found");
	check_u64(made->guest.symbols[LINUX_CURRENT_TASK], MADE_BASE + MADE_CURRENT,
		  "current_task is found");
	check_u64(made->guest.symbols[LINUX_PER_CPU_OFFSET], MADE_BASE + MADE_PER_CPUS,
		  "__per_cpu_offset is found");
	check_u64(layout_32_read_current(&made->guest), MADE_BASE + MADE_TASK,
		  "the running task is read");

	made_i386_begin(made, true);
	made_i386_put(made, MADE_OWN + 8 * 3, 0x3000 | 1, 8);
	made_i386_search(made);
	check_u64(made->guest.symbols[LINUX_PAGE_TABLES], 0,
		  "tables without the kernel are left out");

	made_i386_begin(made, true);
	made_i386_put(made, MADE_OWN, 0x8000 | 1, 8);
	made_i386_search(made);
	check_u64(made->guest.symbols[LINUX_PAGE_TABLES], 0, "a process's tables are left out");
}

/* Tables of two levels, with pages of 4 MiB. */
static void test_without_pae(void)
{
	made_i386_begin(made, true);
	memset(made->bytes + MADE_TABLES, 0, 0x2000);
	made_i386_put(made, MADE_TABLES + 4, 0x8000 | 1, 4);
	made_i386_put(made, MADE_TABLES + 4 * 768, 0x80 | 3, 4);
	made_i386_put(made, MADE_OWN + 8 * 3, 0, 8);
	made_i386_put(made, MADE_OWN + 4 * 768, 0x80 | 3, 4);
	made->guest.root = (struct memory_root){ .cr3 = MADE_TABLES, .width = WIDTH_32 };
	made_i386_search(made);
	check_u64(made->guest.symbols[LINUX_PAGE_TABLES], MADE_BASE + MADE_OWN,
		  "page tables without PAE are found");
}

static bool has(enum layout_member member, unsigned offset)
{
	return layout_has(&made->guest.layout, member) &&
	       layout_offset(&made->guest.layout, member) == offset;
}

static void test_members(bool has_canary)
{
	unsigned leader = MADE_PID + 32 + (has_canary ? 4 : 0);

	made_i386_begin(made, has_canary);
	made_i386_search(made);
	check(layout_32_find(&made->guest, &made->guest.layout), "the members of a task are found");
	check(has(TASK_COMM, MADE_COMM) && has(TASK_PID, MADE_PID) && has(TASK_TGID, MADE_PID + 4),
	      "comm, pid and tgid have their offsets");
	check(has(TASK_GROUP_LEADER, leader), "group_leader has its offset %s a canary",
	      has_canary ? "with" : "without");
	check(has(TASK_STACK, 20) && has(TASK_FLAGS, 28), "stack and flags have their offsets");
	check(!layout_has(&made->guest.layout, TASK_MM), "mm_struct has no known members");
}

static void test_no_members(void)
{
	struct layout before = made->guest.layout;

	made_i386_begin(made, true);
	made_i386_search(made);
	layout_init(&before);
	made_i386_put(made, MADE_LEADER + MADE_PID + 36, MADE_BASE + MADE_TASK, 4);
	memory_refresh(made->guest.memory);
	check(!layout_32_find(&made->guest, &made->guest.layout),
	      "a leader that does not lead itself gives no layout");
	check(memcmp(&made->guest.layout, &before, sizeof(before)) == 0,
	      "a failure leaves the layout untouched");
	made_i386_begin(made, true);
	made_i386_search(made);
	made_i386_put(made, MADE_TASK + MADE_COMM, 0x01, 1);
	memory_refresh(made->guest.memory);
	check(!layout_32_find(&made->guest, &made->guest.layout),
	      "a name that cannot be one gives no layout");
	made_i386_begin(made, true);
	made_i386_search(made);
	made_i386_put(made, MADE_INFO + 1, 0, 1);
	memory_refresh(made->guest.memory);
	check(!layout_32_find(&made->guest, &made->guest.layout),
	      "a function that does not load current gives no layout");
	made_i386_begin(made, true);
	made_i386_put(made, MADE_PER_CPUS, 0x10000000, 4);
	made_i386_search(made);
	check(!layout_32_find(&made->guest, &made->guest.layout),
	      "an area that cannot be read gives no layout");
	made_i386_begin(made, true);
	made->guest.symbols[LINUX_STACK_INFO] = 0;
	made_i386_search(made);
	check(!layout_32_find(&made->guest, &made->guest.layout),
	      "a kernel without the function gives no layout");
}

static void test_tasks(void)
{
	struct tasks *tasks;
	const struct task *task;

	made_i386_begin(made, true);
	made_i386_search(made);
	made->guest.has_layout = layout_32_find(&made->guest, &made->guest.layout);
	must(tasks_create(&made->guest, &tasks));
	task = tasks_find(tasks, MADE_BASE + MADE_TASK, 1);
	check(task && strcmp(task->comm, "thread") == 0 && strcmp(task->process, "leader") == 0 &&
		      task->pid == 71 && task->tgid == 70 && !task->kernel_thread,
	      "a thread has its own name and its process's");
	made_i386_put(made, MADE_TASK + 28, 0x200000, 4);
	memory_refresh(made->guest.memory);
	tasks_invalidate(tasks, MADE_BASE + MADE_TASK);
	task = tasks_find(tasks, MADE_BASE + MADE_TASK, 1);
	check(task && task->kernel_thread, "a thread of the kernel is recognised");
	check(!tasks_find(tasks, 0x40080, 1), "an address below 3 GiB is no task");
	tasks_destroy(tasks);
}

int main(void)
{
	made = made_i386();
	test_symbols();
	test_without_pae();
	test_members(true);
	test_members(false);
	test_no_members();
	test_tasks();
	made_i386_destroy();
	return tap_done();
}
