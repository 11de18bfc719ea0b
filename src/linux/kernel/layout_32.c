/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the members of task_struct that name a task, in a kernel of 32 bits that has no BTF;
 * Debian's kernels have none. The code of a function contains the offsets of name and pid
 * (layout_i386.c, layout_arm32.c). The members around `pid` have had this order since Linux 3.14
 * (include/linux/sched.h):
 *
 *   pid tgid [stack_canary] real_parent parent children.{next,prev} sibling.{next,prev}
 *   group_leader
 *
 * The members at the front of a task_struct: `stack` is the first pointer to a multiple of a
 * stack's size, and `flags` is the second word after it. On Arm thread_info comes first.
 * thread_info has the task's kernel registers from the last time that the task slept, and the
 * task's user registers. On Arm the stack is the one into which cpu_context_save.sp points, and an
 * address of code follows that pointer. All offsets are accepted if they are consistent for the
 * task that runs now: the task's parents and its leader are tasks, and the leader leads itself.
 *
 * Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/layout_32.h"

#include <ctype.h>
#include <string.h>

#define TASK_NAME_BYTES  16
#define TASK_PID_MAX     (4U << 20) /* Linux PID_MAX_LIMIT, include/linux/threads.h */
#define TASK_FRONT_BYTES 64         /* bytes of a task that have `stack`, except on Arm */
#define TASK_INFO_BYTES  1024       /* bytes of a task that have thread_info and `stack` on Arm */
#define WORD             4

/* --- the running task ------------------------------------------------------------------------- */

uint64_t layout_32_read_current(const struct linux_guest *guest)
{
	uint64_t base, task;

	if (!guest->symbols[LINUX_CURRENT_TASK] || !guest->symbols[LINUX_PER_CPU_OFFSET] ||
	    !linux_read_word(guest, guest->symbols[LINUX_PER_CPU_OFFSET], &base) ||
	    !linux_read_word(guest, (uint32_t)(base + guest->symbols[LINUX_CURRENT_TASK]), &task) ||
	    !linux_is_kernel_of(guest, task) || task % WORD)
		return 0;
	return task;
}

struct task_32 {
	const struct linux_guest *guest;
	uint64_t address;
	struct layout_32_names names;
};

/* The word of the task at OFFSET; 0 if the word cannot be read. */
static uint64_t task_word(const struct task_32 *task, uint32_t offset)
{
	return linux_word(task->guest, task->address + offset);
}

static bool task_is_name(const char name[TASK_NAME_BYTES])
{
	size_t n = strnlen(name, TASK_NAME_BYTES);

	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)name[i]))
			return false;
	return n > 0 && n < TASK_NAME_BYTES;
}

/* Whether a task is at ADDRESS: a name and a pid are at the offsets in TASK. */
static bool task_is_other(const struct task_32 *task, uint64_t address)
{
	const struct linux_guest *guest = task->guest;
	char name[TASK_NAME_BYTES];
	uint32_t pid;

	return linux_is_kernel_of(guest, address) && address % WORD == 0 &&
	       memory_read(guest->memory, guest->root, address + task->names.comm, name,
			   sizeof(name)) == sizeof(name) &&
	       task_is_name(name) &&
	       memory_read_u32(guest->memory, guest->root, address + task->names.pid, &pid) &&
	       pid <= TASK_PID_MAX;
}

/* Whether real_parent is at OFFSET. */
static bool task_has_parents(const struct task_32 *task, uint32_t offset)
{
	struct task_32 leader = *task;

	leader.address = task_word(task, offset + 6 * WORD);
	return task_is_other(task, task_word(task, offset)) &&
	       task_is_other(task, task_word(task, offset + WORD)) &&
	       task_is_other(task, leader.address) &&
	       task_word(&leader, offset + 6 * WORD) == leader.address;
}

/* The offset of group_leader, where real_parent follows tgid or the canary; 0 if not found. */
static uint32_t task_find_leader(const struct task_32 *task)
{
	uint32_t offset = task->names.pid + 2 * WORD;

	for (unsigned i = 0; i < 2; i++, offset += WORD)
		if (task_has_parents(task, offset))
			return offset + 6 * WORD;
	return 0;
}

static bool task_is_code(const struct task_32 *task, uint64_t word)
{
	const uint64_t *symbols = task->guest->symbols;

	return word >= symbols[LINUX_TEXT] && word < symbols[LINUX_END];
}

static bool task_is_stack(const struct task_32 *task, uint64_t word)
{
	return linux_is_kernel_of(task->guest, word) && word % STACK_32_BYTES == 0;
}

/*
 * Whether one of the task's first words points into the stack at START, and the next word is an
 * address of code.
 */
static bool task_has_slept_on(const struct task_32 *task, uint64_t start)
{
	for (uint32_t offset = 0; offset < TASK_FRONT_BYTES; offset += WORD)
		if (task_word(task, offset) - start < STACK_32_BYTES &&
		    task_is_code(task, task_word(task, offset + WORD)))
			return true;
	return false;
}

static uint32_t task_find_stack(const struct task_32 *task)
{
	bool is_arm = root_is_arm(task->guest->root);
	uint32_t offset = is_arm ? TASK_FRONT_BYTES : 0;
	uint32_t end = is_arm ? TASK_INFO_BYTES : TASK_FRONT_BYTES;

	for (; offset < end; offset += WORD) {
		uint64_t word = task_word(task, offset);

		if (task_is_stack(task, word) && (!is_arm || task_has_slept_on(task, word)))
			return offset;
	}
	return 0;
}

bool layout_32_find(const struct linux_guest *guest, struct layout *layout)
{
	struct task_32 task = { .guest = guest, .address = layout_32_read_current(guest) };
	bool found = root_is_arm(guest->root) ? layout_arm32_read_code(guest, &task.names)
					      : layout_i386_read_code(guest, &task.names);
	uint32_t leader, stack;

	if (!found || !task.address || !task_is_other(&task, task.address))
		return false;
	leader = task_find_leader(&task);
	stack = task_find_stack(&task);
	if (!leader || !stack)
		return false;
	layout->values[TASK_COMM] = (int32_t)task.names.comm;
	layout->values[TASK_PID] = (int32_t)task.names.pid;
	layout->values[TASK_TGID] = (int32_t)task.names.pid + WORD;
	layout->values[TASK_GROUP_LEADER] = (int32_t)leader;
	layout->values[TASK_STACK] = (int32_t)stack;
	layout->values[TASK_FLAGS] = (int32_t)stack + 2 * WORD;
	layout->values[IRQ_STACK_SIZEOF] = STACK_32_BYTES;
	return true;
}
