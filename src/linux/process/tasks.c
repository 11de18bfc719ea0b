/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads threads and processes by the address of their task_struct; see tasks.h. Resolver's thread.
 *
 * The sampler provides the address of `current`. The task_struct there is read later, while the
 * guest runs, so the task may have ended meanwhile, or the memory may belong to another task.
 * Therefore nothing of an earlier read is used: all members that are needed lie within three KiB,
 * are copied in one read and parsed from the copy. A kept task saves this read, but only for
 * TASKS_FRESH_NS. The name of the group leader costs another such read, and the name of the control
 * group a few reads for each level (cgroup.c).
 *
 * A new process often gets the memory of one that has just ended: task_struct, mm_struct and page
 * tables all have the addresses of the old ones. Only pid and number of exec() calls distinguish
 * the two. So these are read for each sample, also for a kept task. The pointer to the mm_struct is
 * read for each sample, too: it becomes 0 before an ending task gives up its areas.
 *
 *   task_struct  flags  ..  mm  ..  pid tgid  ..  group_leader  ..  start_time  ..  comm[16]
 *                PF_KTHREAD |       the leader's comm names the process, its pid is the tgid
 *
 * Data is accepted if it is plausible: pids within the kernel's limit, pointers into the kernel's
 * half, a name that ends.
 *
 * Tasks are kept in a hash table of sets. Each set has TASKS_WAYS places; the least recently used
 * task of the set is replaced first. The size is fixed, unlike that of hash.h: a guest that forks
 * without end fills these places and no more.
 */
#include "config.h"

#include "linux/process/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/kernel/arch.h"
#include "xtop/base/hash.h"

#define TASKS_WAYS      4
#define TASKS_SETS      (TASKS_MAX / TASKS_WAYS)
#define TASK_PID_MAX    (4U << 20)  /* Linux PID_MAX_LIMIT, include/linux/threads.h */
#define TASK_PF_KTHREAD 0x00200000U /* Linux include/linux/sched.h, since v2.6.27 */
/* limit from the first to the last member; a task_struct of 6.12 has 9.5 KiB */
#define TASK_SPAN_BYTES (16U << 10)

struct tasks_slot {
	struct task task; /* address is 0 in an empty slot */
	uint64_t read_ns;
	uint64_t used; /* tasks.clock when the task was last found */
};

struct tasks {
	const struct linux_guest *guest;
	uint32_t span_start, span_bytes; /* range of a task_struct with the members that are read */
	uint32_t stack_bytes;            /* size of each kernel stack */
	uint64_t clock;                  /* number of calls of tasks_find() */
	struct tasks_counts counts;
	struct tasks_slot slots[TASKS_MAX];
	unsigned char span[TASK_SPAN_BYTES];
};

/* The members that are read at once, in any order. */
static const struct {
	enum layout_member member;
	uint32_t size_bytes;
	bool needed; /* false if a kernel may lack it */
} task_members[] = {
	{ TASK_COMM, TASK_NAME_BYTES, true },
	{ TASK_PID, 4, true },
	{ TASK_TGID, 4, true },
	{ TASK_MM, 8, true },
	{ TASK_GROUP_LEADER, 8, true },
	{ TASK_START_TIME, 8, false },
	{ TASK_FLAGS, 4, false },
	{ TASK_STACK, 8, false },
	{ TASK_SELF_EXEC_ID, 4, false },
};

/* Finds the smallest range of a task_struct that has all of task_members. */
static struct xtop_error *tasks_find_span(struct tasks *tasks)
{
	const struct layout *layout = &tasks->guest->layout;
	bool is_short = linux_is_short(tasks->guest); /* these kernels have no BTF */
	uint32_t start = UINT32_MAX, end = 0;

	for (size_t i = 0; i < sizeof(task_members) / sizeof(task_members[0]); i++) {
		uint32_t offset;

		if (!layout_has(layout, task_members[i].member)) {
			if (task_members[i].needed &&
			    !(is_short && task_members[i].member == TASK_MM))
				return error_create("the guest's BTF lacks members of task_struct");
			continue;
		}
		offset = layout_offset(layout, task_members[i].member);
		if (offset < start)
			start = offset;
		if (offset + task_members[i].size_bytes > end)
			end = offset + task_members[i].size_bytes;
	}
	if (end - start > TASK_SPAN_BYTES)
		return error_create("the guest's task_struct is larger than %u KiB",
				    TASK_SPAN_BYTES >> 10);
	tasks->span_start = start;
	tasks->span_bytes = end - start;
	return NULL;
}

struct xtop_error *tasks_create(const struct linux_guest *guest, struct tasks **tasksp)
{
	struct tasks *tasks = calloc(1, sizeof(*tasks));
	struct xtop_error *error;

	if (!tasks)
		return error_create("out of memory for the guest's tasks");
	tasks->guest = guest;
	tasks->stack_bytes = arch_stack_bytes(guest);
	error = tasks_find_span(tasks);
	if (error) {
		free(tasks);
		return error;
	}
	*tasksp = tasks;
	return NULL;
}

void tasks_destroy(struct tasks *tasks)
{
	free(tasks);
}

struct tasks_counts tasks_counts(const struct tasks *tasks)
{
	return tasks->counts;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Copies a member from tasks->span. */
static void tasks_get_member(const struct tasks *tasks, enum layout_member member, void *buffer,
			     size_t size_bytes)
{
	uint32_t offset = layout_offset(&tasks->guest->layout, member);

	memcpy(buffer, tasks->span + (offset - tasks->span_start), size_bytes);
}

static bool tasks_is_plausible(const struct tasks *tasks, const struct task *task,
			       uint64_t leader)
{
	return memchr(task->comm, '\0', sizeof(task->comm)) && task->pid <= TASK_PID_MAX &&
	       task->tgid <= TASK_PID_MAX && linux_is_kernel_of(tasks->guest, leader) &&
	       (!task->mm || linux_is_kernel_of(tasks->guest, task->mm));
}

/* Copies the guest's task_struct at ADDRESS to tasks->span. */
static bool tasks_read_span(struct tasks *tasks, uint64_t address)
{
	const struct linux_guest *guest = tasks->guest;

	return memory_read_again(guest->memory, guest->root, address + tasks->span_start,
				 tasks->span, tasks->span_bytes) == tasks->span_bytes;
}

/* Reads all of a task except the process's name. */
static bool tasks_read_one(struct tasks *tasks, uint64_t address, struct task *task,
			   uint64_t *leaderp)
{
	const struct linux_guest *guest = tasks->guest;
	size_t word_bytes = linux_word_bytes(tasks->guest);
	struct task read = { .address = address };
	uint32_t flags = 0;

	tasks->counts.reads++;
	if (!tasks_read_span(tasks, address)) {
		tasks->counts.unreadable++;
		return false;
	}
	tasks_get_member(tasks, TASK_COMM, read.comm, sizeof(read.comm));
	tasks_get_member(tasks, TASK_PID, &read.pid, sizeof(read.pid));
	tasks_get_member(tasks, TASK_TGID, &read.tgid, sizeof(read.tgid));
	*leaderp = 0;
	if (layout_has(&guest->layout, TASK_MM))
		tasks_get_member(tasks, TASK_MM, &read.mm, word_bytes);
	tasks_get_member(tasks, TASK_GROUP_LEADER, leaderp, word_bytes);
	if (layout_has(&guest->layout, TASK_START_TIME))
		tasks_get_member(tasks, TASK_START_TIME, &read.start_time, sizeof(read.start_time));
	if (layout_has(&guest->layout, TASK_FLAGS))
		tasks_get_member(tasks, TASK_FLAGS, &flags, sizeof(flags));
	if (layout_has(&guest->layout, TASK_STACK))
		tasks_get_member(tasks, TASK_STACK, &read.stack, word_bytes);
	if (layout_has(&guest->layout, TASK_SELF_EXEC_ID))
		tasks_get_member(tasks, TASK_SELF_EXEC_ID, &read.exec_id, sizeof(read.exec_id));
	if (!tasks_is_plausible(tasks, &read, *leaderp)) {
		tasks->counts.refused++;
		return false;
	}
	read.idle = !read.pid;
	read.kernel_thread = flags & TASK_PF_KTHREAD || read.idle;
	if (read.kernel_thread)
		read.mm = 0; /* a kernel thread may borrow a process's mm: kthread_use_mm() */
	if (!linux_is_kernel_of(guest, read.stack))
		read.stack = 0;
	*task = read;
	return true;
}

/*
 * Whether MEMBER of the task_struct at ADDRESS has VALUE, of SIZE_BYTES, now. True if the kernel
 * has no such member.
 */
static bool tasks_has_now(const struct tasks *tasks, uint64_t address, enum layout_member member,
			  uint64_t value, size_t size_bytes)
{
	const struct linux_guest *guest = tasks->guest;
	uint64_t now = 0;

	if (!layout_has(&guest->layout, member))
		return true;
	address += layout_offset(&guest->layout, member);
	return memory_read_again(guest->memory, guest->root, address, &now, size_bytes) ==
		       size_bytes &&
	       now == value;
}

/* Whether TASK's task_struct still has the same task, in the same program, which has not ended. */
static bool tasks_is_same(const struct tasks *tasks, const struct task *task)
{
	size_t word_bytes = linux_word_bytes(tasks->guest);
	uint64_t address = task->address;

	return tasks_has_now(tasks, address, TASK_PID, task->pid, sizeof(task->pid)) &&
	       tasks_has_now(tasks, address, TASK_SELF_EXEC_ID, task->exec_id,
			     sizeof(task->exec_id)) &&
	       (task->kernel_thread ||
		tasks_has_now(tasks, address, TASK_MM, task->mm, word_bytes));
}

/* --- kept tasks ------------------------------------------------------------------------------- */

/* The slot of ADDRESS, or else the slot that ADDRESS can take. Never NULL. */
static struct tasks_slot *tasks_find_slot(struct tasks *tasks, uint64_t address)
{
	/* task_structs are at multiples of 64 or more */
	size_t set = hash_slot(address >> 6, TASKS_SETS);
	struct tasks_slot *slots = &tasks->slots[set * TASKS_WAYS], *oldest = slots;

	for (unsigned i = 0; i < TASKS_WAYS; i++) {
		if (slots[i].task.address == address)
			return &slots[i];
		if (slots[i].used < oldest->used)
			oldest = &slots[i];
	}
	return oldest;
}

static void tasks_drop(struct tasks *tasks, struct tasks_slot *slot)
{
	tasks->counts.kept -= slot->task.address != 0;
	*slot = (struct tasks_slot){ 0 };
}

/*
 * Sets the process's name: the comm of the group leader, and the program that it interprets. The
 * leader's task_struct stays until the last thread of the group has ended.
 */
static void tasks_set_process_name(struct tasks *tasks, uint64_t leader, struct task *task)
{
	const char *comm = task->comm;
	char script[SCRIPT_NAME_BYTES] = "";
	struct task other;
	uint64_t unused;

	if (leader != task->address && tasks_read_one(tasks, leader, &other, &unused) &&
	    other.pid == task->tgid)
		comm = other.comm;
	task->named_as_process = strcmp(comm, task->comm) == 0;
	if (task->mm && script_is_interpreter(comm))
		script_read(tasks->guest, task->mm, script);
	snprintf(task->process, sizeof(task->process), "%s%s%s", comm, *script ? " " : "", script);
}

static void tasks_set_cgroup(struct tasks *tasks, struct task *task)
{
	char path[CGROUP_PATH_BYTES];

	if (!cgroup_has_layout(&tasks->guest->layout))
		return;
	if (cgroup_read(tasks->guest, task->address, path))
		cgroup_shorten(path, task->cgroup);
	else
		tasks->counts.cgroups_unreadable++;
}

const struct task *tasks_find(struct tasks *tasks, uint64_t address, uint64_t now_ns)
{
	struct tasks_slot *slot = tasks_find_slot(tasks, address);
	bool found = slot->task.address == address;
	uint64_t leader;

	if (!linux_is_kernel_of(tasks->guest, address)) {
		tasks->counts.refused++;
		return NULL;
	}
	slot->used = ++tasks->clock;
	if (found && now_ns - slot->read_ns < TASKS_FRESH_NS && tasks_is_same(tasks, &slot->task))
		return &slot->task;
	if (!found && slot->task.address)
		tasks->counts.evicted++;
	tasks_drop(tasks, slot);
	if (!tasks_read_one(tasks, address, &slot->task, &leader))
		return NULL;
	tasks_set_process_name(tasks, leader, &slot->task);
	tasks_set_cgroup(tasks, &slot->task);
	slot->read_ns = now_ns;
	slot->used = tasks->clock;
	tasks->counts.kept++;
	return &slot->task;
}

bool tasks_is_on_stack(const struct tasks *tasks, const struct task *task, uint64_t sp)
{
	return task->stack && sp - task->stack < tasks->stack_bytes;
}

uint64_t tasks_find_on_stack(const struct tasks *tasks, uint64_t sp)
{
	const struct tasks_slot *last = NULL;

	for (size_t i = 0; i < TASKS_MAX; i++) {
		const struct tasks_slot *slot = &tasks->slots[i];

		if (tasks_is_on_stack(tasks, &slot->task, sp) &&
		    (!last || slot->used > last->used))
			last = slot;
	}
	return last ? last->task.address : 0;
}

uint64_t tasks_find_of_process(const struct tasks *tasks, uint32_t tgid, size_t *slot)
{
	while (*slot < TASKS_MAX) {
		const struct task *task = &tasks->slots[(*slot)++].task;

		if (task->address && task->tgid == tgid)
			return task->address;
	}
	return 0;
}

void tasks_invalidate(struct tasks *tasks, uint64_t address)
{
	struct tasks_slot *slot = tasks_find_slot(tasks, address);

	if (slot->task.address == address)
		tasks_drop(tasks, slot);
}
