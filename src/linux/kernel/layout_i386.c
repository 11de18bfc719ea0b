/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the members of task_struct that name a task, in a kernel of i386 that has no BTF; Debian's
 * has none. dump_stack_print_info() prints "PID: %d Comm: %.20s" of the running task:
 *
 *   64 8b 05+8*reg  s32        mov  %fs:CURRENT_TASK, %reg; 64 a1 for %eax
 *      8d 80+8*to+reg  s32     lea  COMM(%reg), %to
 *      ff b0+reg       s32     push PID(%reg); 8b 80+8*to+reg: mov
 *
 * (Intel SDM vol. 2A §2.1.5: ModRM.) The members around `pid` have had this order since Linux 3.14
 * (include/linux/sched.h):
 *
 *   pid tgid [stack_canary] real_parent parent children.{next,prev} sibling.{next,prev}
 *   group_leader
 *
 * and those at the front of a task_struct another one: `stack` is the first pointer to a multiple
 * of a stack's size, and `flags` is the second word behind it. All is believed if it agrees in the
 * task that runs now: its parents and its leader are tasks, and the leader leads itself.
 *
 * Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/layout_i386.h"

#include <ctype.h>
#include <string.h>

#include "linux/kernel/code_i386.h"

#define CODE_BYTES       256
#define TASK_MAX_BYTES   32768
#define TASK_NAME_BYTES  16
#define TASK_PID_MAX     (4U << 20) /* Linux PID_MAX_LIMIT, include/linux/threads.h */
#define TASK_FRONT_BYTES 64         /* `stack` lies there, behind thread_info */
#define WORD             4

/* --- code ------------------------------------------------------------------------------------- */

static bool code_find_members(const struct linux_guest *guest, uint32_t *comm, uint32_t *pid)
{
	struct code_i386 code;
	int reg;

	if (!code_i386_read(guest, LINUX_STACK_INFO, CODE_BYTES, &code))
		return false;
	reg = code_i386_find_current(&code, (uint32_t)guest->symbols[LINUX_CURRENT_TASK]);
	if (reg < 0 || reg == 4)
		return false;
	*comm = code_i386_find_member(&code, 0x8d, reg);
	*pid = code_i386_find_member(&code, 0xff, reg);
	if (!*pid)
		*pid = code_i386_find_member(&code, 0x8b, reg);
	return *comm && *pid && *comm < TASK_MAX_BYTES && *pid < TASK_MAX_BYTES &&
	       *pid % WORD == 0;
}

/* --- the task that runs ----------------------------------------------------------------------- */

uint64_t layout_i386_read_current(const struct linux_guest *guest)
{
	uint64_t base, task;

	if (!guest->symbols[LINUX_CURRENT_TASK] || !guest->symbols[LINUX_PER_CPU_OFFSET] ||
	    !linux_read_word(guest, guest->symbols[LINUX_PER_CPU_OFFSET], &base) ||
	    !linux_read_word(guest, (uint32_t)(base + guest->symbols[LINUX_CURRENT_TASK]), &task) ||
	    !linux_is_kernel_of(guest, task) || task % WORD)
		return 0;
	return task;
}

struct i386_task {
	const struct linux_guest *guest;
	uint64_t address;
	uint32_t comm, pid;
};

/* The word of the task at OFFSET; 0: none. */
static uint64_t task_word(const struct i386_task *task, uint32_t offset)
{
	uint64_t word;

	return linux_read_word(task->guest, task->address + offset, &word) ? word : 0;
}

static bool task_is_name(const char name[TASK_NAME_BYTES])
{
	size_t n = strnlen(name, TASK_NAME_BYTES);

	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)name[i]))
			return false;
	return n > 0 && n < TASK_NAME_BYTES;
}

/* Whether ADDRESS has a name and a pid where TASK has them. */
static bool task_is_other(const struct i386_task *task, uint64_t address)
{
	const struct linux_guest *guest = task->guest;
	char name[TASK_NAME_BYTES];
	uint32_t pid;

	return linux_is_kernel_of(guest, address) && address % WORD == 0 &&
	       memory_read(guest->memory, guest->root, address + task->comm, name, sizeof(name)) ==
		       sizeof(name) &&
	       task_is_name(name) &&
	       memory_read_u32(guest->memory, guest->root, address + task->pid, &pid) &&
	       pid <= TASK_PID_MAX;
}

/* Whether real_parent is at OFFSET. */
static bool task_has_parents(const struct i386_task *task, uint32_t offset)
{
	struct i386_task leader = *task;

	leader.address = task_word(task, offset + 6 * WORD);
	return task_is_other(task, task_word(task, offset)) &&
	       task_is_other(task, task_word(task, offset + WORD)) &&
	       task_is_other(task, leader.address) &&
	       task_word(&leader, offset + 6 * WORD) == leader.address;
}

/* Behind pid and tgid, or behind the canary. 0: nowhere. */
static uint32_t task_find_leader(const struct i386_task *task)
{
	for (uint32_t offset = task->pid + 2 * WORD; offset <= task->pid + 3 * WORD; offset += WORD)
		if (task_has_parents(task, offset))
			return offset + 6 * WORD;
	return 0;
}

static uint32_t task_find_stack(const struct i386_task *task)
{
	for (uint32_t offset = 0; offset < TASK_FRONT_BYTES; offset += WORD) {
		uint64_t word = task_word(task, offset);

		if (linux_is_kernel_of(task->guest, word) && word % I386_STACK_BYTES == 0)
			return offset;
	}
	return 0;
}

bool layout_i386_find(const struct linux_guest *guest, struct layout *layout)
{
	struct i386_task task = { .guest = guest, .address = layout_i386_read_current(guest) };
	uint32_t leader, stack;

	if (!task.address || !code_find_members(guest, &task.comm, &task.pid) ||
	    !task_is_other(&task, task.address))
		return false;
	leader = task_find_leader(&task);
	stack = task_find_stack(&task);
	if (!leader || !stack)
		return false;
	layout->values[TASK_COMM] = (int32_t)task.comm;
	layout->values[TASK_PID] = (int32_t)task.pid;
	layout->values[TASK_TGID] = (int32_t)task.pid + WORD;
	layout->values[TASK_GROUP_LEADER] = (int32_t)leader;
	layout->values[TASK_STACK] = (int32_t)stack;
	layout->values[TASK_FLAGS] = (int32_t)stack + 2 * WORD;
	layout->values[IRQ_STACK_SIZEOF] = I386_STACK_BYTES;
	return true;
}
