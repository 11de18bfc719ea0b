/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a 32-bit kernel without BTF keeps of a task: found by the leader of a process, and refused part
 * by part. Then the readers of x86-64 with words of 4 bytes: the tree of pids, looks at a task that
 * sleeps, its stacks, its control group, its exec() calls, and the directory of a process.
 */
#include "config.h"

#include <string.h>

#include "linux/kernel/layout_32.h"
#include "linux/process/path.h"
#include "linux/process/pids.h"
#include "linux/process/process_layout.h"
#include "linux/sleepers.h"
#include "tests/support/made_task_i386.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/sample/sample.h"

#define AT(offset) (MADE_BASE + (offset))
#define S          UINT64_C(1000000000)
#define BASE       (1000000 * S)

static struct made_i386 *made;

static void put(uint64_t offset, uint64_t word)
{
	made_i386_put(made, offset, word, 4);
}

static void begin(void)
{
	made_i386_begin(made, true);
	made_process_i386(made, MADE_TASK);
	made_task_i386(made);
	made_i386_search(made);
	made->guest.has_layout = layout_32_find(&made->guest, &made->guest.layout);
}

static bool find(void)
{
	memory_refresh(made->guest.memory);
	return process_layout_32_find(&made->guest);
}

static bool has(enum layout_member member, unsigned offset)
{
	return layout_has(&made->guest.layout, member) &&
	       layout_offset(&made->guest.layout, member) == offset;
}

static void test_found(void)
{
	begin();
	check(find(), "a process gives a layout");
	check(has(TASK_THREAD_PID, MADE_AT_THREAD_PID) &&
		      has(TASK_PID_LINKS, MADE_AT_THREAD_PID + 4) && has(PID_TASKS, 12) &&
		      has(PID_LEVEL, 4) && has(PID_NUMBERS, 52) && has(UPID_SIZEOF, 8) &&
		      has(PID_NS_IDR, 0),
	      "thread_pid and its members are found");
	check_u64(made->guest.symbols[LINUX_INIT_PID_NS], AT(MADE_PID_NS), "init_pid_ns is found");
	check(has(TASK_STATE, MADE_AT_STATE) && has(TASK_ON_CPU, MADE_AT_ON_CPU) &&
		      has(TASK_EXIT_STATE, MADE_AT_EXIT_STATE) &&
		      has(TASK_SWITCHES, MADE_AT_SWITCHES) &&
		      has(TASK_PREEMPTIONS, MADE_AT_SWITCHES + 4),
	      "state and on_cpu are found");
	check(has(TASK_SP, MADE_AT_SP), "the member with the stack pointer is found");
	check(has(TASK_RUN_DELAY, MADE_AT_ARRIVAL - 8) && has(TASK_LAST_ARRIVAL, MADE_AT_ARRIVAL) &&
		      has(TASK_LAST_QUEUED, MADE_AT_ARRIVAL + 8),
	      "switches and times are found");
	check(has(TASK_SELF_EXEC_ID, MADE_AT_EXEC_ID), "self_exec_id is found");
	check(has(TASK_FS, MADE_AT_FS) && has(FS_ROOT, 20), "fs and its root are found");
	check(has(DENTRY_CHILD, 104) && has(DENTRY_SUBDIRS, 112),
	      "a directory's list of children is found");
	check(has(TASK_CGROUPS, MADE_AT_CGROUPS) && has(CSS_SET_CGROUP, 64) &&
		      has(CGROUP_NODE, 152) && has(KERNFS_PARENT, 8) && has(KERNFS_NAME, 12),
	      "the members of control groups are found");
}

/* What no kernel has: MEMBER stays unknown, and the rest is found. */
static void test_refused(void)
{
	static const struct {
		uint64_t offset, word;
		enum layout_member member;
		const char *what;
	} damages[] = {
		{ MADE_STRUCT_PID + 12, AT(MADE_LEADER), TASK_THREAD_PID, "a pid of another task" },
		{ MADE_STRUCT_PID + 52, 71, TASK_THREAD_PID, "a pid with another number" },
		{ MADE_PID_LEAF + 20 + 4 * 6, AT(MADE_PID_NS), PID_NS_IDR, "a tree without it" },
		{ MADE_LEADER + MADE_AT_EXIT_STATE + 8, 0, TASK_EXIT_STATE, "no signal at its end" },
		{ MADE_LEADER + MADE_AT_EXIT_STATE + 28, 17, TASK_EXIT_STATE, "two of them" },
		{ MADE_LEADER + MADE_AT_ON_CPU, 2, TASK_ON_CPU, "no truth value" },
		{ MADE_LEADER + MADE_AT_SP, AT(MADE_STACK - 4), TASK_SP, "another stack" },
		{ MADE_LEADER + MADE_AT_TASKS, AT(MADE_LEADER), TASK_LAST_ARRIVAL, "no list of tasks" },
		{ MADE_LEADER + MADE_AT_EXEC_ID + 4, 1, TASK_SELF_EXEC_ID, "4 billion exec() calls" },
		{ MADE_NEW_EXEC + 0x5a0 + 19, 0xd290, TASK_SELF_EXEC_ID, "a function without the sum" },
		{ MADE_FS + 24, AT(MADE_DENTRY), TASK_FS, "a root that is no file system's" },
		{ MADE_KERNFS + 12, 0x1000, TASK_CGROUPS, "a group without a name" },
		{ MADE_ROOT_DENTRY + 112, AT(MADE_ROOT_DENTRY + 112), DENTRY_CHILD,
		  "a directory without the file" },
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		begin();
		put(damages[i].offset, damages[i].word);
		check(find() && !layout_has(&made->guest.layout, damages[i].member), "a member is not found: %s",
		      damages[i].what);
	}
}

/* A kernel that lacks the functions has the rest. */
static void test_without_functions(void)
{
	begin();
	made->guest.symbols[LINUX_SWITCH] = made->guest.symbols[LINUX_NEW_EXEC] = 0;
	made->guest.symbols[LINUX_CGROUP_ID] = 0;
	check(find() && !layout_has(&made->guest.layout, TASK_SP) &&
		      !layout_has(&made->guest.layout, TASK_SELF_EXEC_ID) &&
		      !layout_has(&made->guest.layout, TASK_CGROUPS) &&
		      has(TASK_THREAD_PID, MADE_AT_THREAD_PID),
	      "a kernel without the functions lacks only their members");
	made->guest.symbols[LINUX_SWITCH] = AT(MADE_SWITCH);
	task_layout_i386_find_waits(&made->guest, AT(MADE_TASK));
	check(has(TASK_SP, MADE_AT_SP) && !layout_has(&made->guest.layout, TASK_SELF_EXEC_ID),
	      "the members of waits are found later");
}

/* --- readers ---------------------------------------------------------------------------------- */

static struct {
	unsigned adds, stacks;
	struct registers regs;
	struct sample_stack pieces[2];
	struct os_task task;
	char thread[TASK_NAME_BYTES], cgroup[64];
	enum os_wait_state state;
} seen;

static void add(void *context, const struct os_wait *wait)
{
	const struct sample_stack *piece;

	(void)context;
	seen.adds++;
	seen.state = wait->state;
	if (!wait->vcpu)
		return;
	seen.stacks++;
	seen.regs = wait->vcpu->regs;
	seen.task = *wait->task;
	snprintf(seen.thread, sizeof(seen.thread), "%s", wait->task->thread);
	snprintf(seen.cgroup, sizeof(seen.cgroup), "%s", wait->task->cgroup);
	piece = sample_first_stack(wait->vcpu);
	for (unsigned i = 0; i < wait->vcpu->n_stacks && i < 2; i++, piece = sample_next_stack(piece))
		seen.pieces[i] = *piece;
}

static void end_wait(void *context, void *kept, uint64_t waited_ns)
{
	(void)context;
	(void)kept;
	(void)waited_ns;
}

static void test_sleeper(void)
{
	static const struct processes_settings none = { .debug.root_fd = -1 };
	static const struct os_waits_sink sink = { add, end_wait, NULL, NULL };
	struct tasks *tasks;
	struct processes *processes;
	struct sleepers *sleepers;

	begin();
	check(find() && sleepers_can_read(&made->guest), "waits can be read");
	must(tasks_create(&made->guest, &tasks));
	must(processes_create(&made->guest, &none, &processes));
	must(sleepers_create(&made->guest, tasks, processes, &sleepers));
	check(sleepers_read(sleepers, BASE, S, &sink) == OS_WAITS_WHOLE && seen.adds == 1 &&
		      seen.stacks == 1,
	      "one sleeping task is reported");
	check(seen.task.pid == 70 && strcmp(seen.thread, "leader") == 0 &&
		      seen.state == OS_WAIT_SLEEPING,
	      "the sleeping task has its name and its state");
	check(strcmp(seen.cgroup, "shop.service") == 0,
	      "the sleeping task has its control group: %s", seen.cgroup);
	check(seen.regs.rip == MADE_SLEEP_RETURN && seen.regs.rbp == MADE_SLEEP_BP &&
		      seen.regs.rsp == AT(MADE_SLEEP_SP) + 24,
	      "the sleeping task has the pc where it left its CPU");
	check(seen.regs.width == WIDTH_32_PAE && seen.regs.cr3 == (MADE_TABLES | 0x20),
	      "the sleeping task has its page tables");
	check(seen.pieces[0].address == AT(MADE_SLEEP_SP) && seen.pieces[0].size_bytes == 0x100,
	      "the sleeping task has the kernel's stack");
	check(seen.pieces[1].address == MADE_USER_SP && seen.pieces[1].kind == STACK_USER &&
		      seen.pieces[1].size_bytes,
	      "the sleeping task has the program's stack");
	put(MADE_LEADER + MADE_AT_ON_CPU, 1);
	seen.adds = 0;
	sleepers_read(sleepers, BASE + S, S, &sink);
	check(!seen.adds && sleepers_counts(sleepers).running == 1,
	      "a running task is counted as running");
	sleepers_destroy(sleepers);
	processes_destroy(processes);
	tasks_destroy(tasks);
}

static void test_task(void)
{
	struct tasks *tasks;
	const struct task *task;
	uint64_t inode = 0;

	begin();
	find();
	must(tasks_create(&made->guest, &tasks));
	task = tasks_find(tasks, AT(MADE_LEADER), 1);
	check(task && task->exec_id == 3, "exec() calls are counted");
	tasks_destroy(tasks);
	check_u64(pids_get_task(&made->guest, pids_find(&made->guest, AT(MADE_PID_NS), 70)),
		  AT(MADE_LEADER), "a task is found by its number");
	memcpy(made->bytes + MADE_NAMES, "tmp", 4);
	put(MADE_DENTRY + 24, 3);
	put(MADE_DENTRY + 112, AT(MADE_DENTRY + 112));
	memory_refresh(made->guest.memory);
	check(!path_find_file(&made->guest, AT(MADE_LEADER), "/tmp/x", &inode),
	      "a file that does not exist is not found");
	put(MADE_DENTRY + 112, AT(0x57e00 + 104)); /* a dentry "x" there */
	put(0x57e00 + 104, AT(MADE_DENTRY + 112));
	put(0x57e00 + 24, 1);
	put(0x57e00 + 28, AT(MADE_NAMES + 40));
	put(0x57e00 + 32, AT(MADE_INODE));
	put(0x57e00 + 12, 0xc0001234);
	memcpy(made->bytes + MADE_NAMES + 40, "x", 2);
	memory_refresh(made->guest.memory);
	check(path_find_file(&made->guest, AT(MADE_LEADER), "/tmp/x", &inode) &&
		      inode == AT(MADE_INODE),
	      "a file is found by its path");
}

int main(void)
{
	made = made_i386();
	test_found();
	test_refused();
	test_without_functions();
	test_sleeper();
	test_task();
	made_i386_destroy();
	return tap_done();
}
