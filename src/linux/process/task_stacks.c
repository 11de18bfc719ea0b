/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds tasks by their kernel stacks; see task_stacks.h. This needs no symbol of the kernel's data.
 *
 * 1. A stack mostly holds the address of its own task. The scheduler has `prev` and `next` in
 *    registers that a function preserves, so both were saved when the task was last switched away
 *    or to (Linux kernel/sched/core.c, __schedule(); arch/arm64/kernel/process.c, __switch_to()).
 *    A word is accepted if task_struct.stack there leads back:
 *
 *        task_struct ◄──────────────────┐
 *        .stack ──► ┌──────────────┐    │
 *                   │ saved `prev` ─┼────┘
 *                   │ pt_regs      │
 *                   └──────────────┘ ◄── TOP, which is SP_EL1 in user mode
 *
 *    The last calls were nearest to TOP, so the search begins there. The stack of a running task
 *    has only remains of earlier calls, and may change meanwhile: only the way back is a proof.
 * 2. All tasks are in the first pid namespace, and any task leads there:
 *
 *        task ─► thread_pid ─► numbers[0].ns ─► idr ─► struct pid ─► task ─► stack
 *
 *    A walk reads at most TASK_STACKS_MAX tasks.
 */
#include "config.h"

#include "linux/process/task_stacks.h"

#include "linux/kernel/arch.h"
#include "linux/kernel/member.h"
#include "linux/process/pids.h"
#include "linux/process/xarray.h"
#include "xtop/base/limit.h"
#include "xtop/base/work.h"

#define TASK_STACKS_WALK_NS 200000000ULL
#define TASK_STACKS_MAX     LIMIT(16384, 64)
#define TASK_STACKS_BYTES   16384 /* bytes at the end of a stack that are searched */
#define TASK_STACKS_TRIES   256   /* words that may be a task, for each of which memory is read */
#define TASK_ALIGNMENT      64    /* least alignment of a task_struct: L1_CACHE_BYTES */

void task_stacks_learn(struct task_stacks *stacks, uint64_t task)
{
	if (task)
		stacks->any_task = task;
}

/*
 * Whether NS has a first process. The task that led to NS may have ended since, and its memory may
 * be another object's.
 */
static bool task_stacks_is_namespace(const struct linux_guest *guest, uint64_t ns)
{
	return linux_is_kernel_of(guest, ns) && layout_has(&guest->layout, PID_NS_IDR) &&
	       pids_get_task(guest, pids_find(guest, ns, 1));
}

uint64_t task_stacks_find_namespace(const struct task_stacks *stacks)
{
	const struct linux_guest *guest = stacks->guest;
	uint64_t pid, upid, ns;

	if (guest->symbols[LINUX_INIT_PID_NS])
		return guest->symbols[LINUX_INIT_PID_NS];
	if (!member_read_pointer(guest, stacks->any_task, TASK_THREAD_PID, &pid))
		return 0;
	upid = pids_find_upid(guest, pid, 0);
	return upid && member_read_word(guest, upid, UPID_NS, &ns) &&
			       task_stacks_is_namespace(guest, ns)
		       ? ns
		       : 0;
}

/* --- stacks that name their task -------------------------------------------------------------- */

/* Whether WORD can be a task. Most kernel addresses on a stack point to code or to the stack. */
static bool task_stacks_may_be_task(const struct linux_guest *guest, uint64_t word, uint64_t start,
				    uint64_t top)
{
	return linux_is_kernel(word) && word % TASK_ALIGNMENT == 0 &&
	       !(word >= start && word <= top) &&
	       !(word >= guest->text_start && word < guest->text_end);
}

static uint64_t task_stacks_search(const struct linux_guest *guest, uint64_t top)
{
	uint64_t words[TASK_STACKS_BYTES / sizeof(uint64_t)], start, stack, last = 0;
	size_t n = sizeof(words) / sizeof(words[0]);
	unsigned tries = 0;

	if (!layout_has(&guest->layout, TASK_STACK) ||
	    memory_read(guest->memory, guest->root, top - sizeof(words), words, sizeof(words)) !=
		    sizeof(words))
		return 0;
	start = top - arch_stack_bytes(guest);
	while (n-- && tries < TASK_STACKS_TRIES) {
		if (words[n] == last || !task_stacks_may_be_task(guest, words[n], start, top))
			continue;
		last = words[n];
		tries++;
		if (member_read_pointer(guest, last, TASK_STACK, &stack) && stack == start)
			return last;
	}
	return 0;
}

/* --- stacks found by all tasks ---------------------------------------------------------------- */

/* The task of the struct pid at PID, if SP lies on its stack; otherwise 0. */
static uint64_t task_stacks_try(const struct linux_guest *guest, const struct tasks *tasks,
				uint64_t pid, uint64_t sp)
{
	struct task task = { .address = linux_is_kernel(pid) ? pids_get_task(guest, pid) : 0 };

	if (!task.address || !member_read_pointer(guest, task.address, TASK_STACK, &task.stack) ||
	    !tasks_is_on_stack(tasks, &task, sp))
		return 0;
	return task.address;
}

static uint64_t task_stacks_walk(const struct task_stacks *stacks, const struct tasks *tasks,
				 uint64_t sp)
{
	uint64_t ns = task_stacks_find_namespace(stacks), index = 0, next;
	uint64_t leaf[XARRAY_NODE_SLOTS], task;
	const struct linux_guest *guest = stacks->guest;

	if (!ns || !layout_has(&guest->layout, PID_NS_IDR) || !xarray_has_layout(&guest->layout))
		return 0;
	for (unsigned n = 0; n < TASK_STACKS_MAX && !work_is_over(memory_work(guest->memory));
	     n += XARRAY_NODE_SLOTS) {
		bool found = xarray_read_leaf(guest,
					      ns + layout_offset(&guest->layout, PID_NS_IDR),
					      &index, leaf, &next);

		for (unsigned i = 0; found && i < XARRAY_NODE_SLOTS; i++)
			if (leaf[i] && !xarray_is_internal(leaf[i]) && !xarray_is_value(leaf[i]) &&
			    (task = task_stacks_try(guest, tasks, leaf[i], sp)))
				return task;
		if (!next)
			break;
		index = next;
	}
	return 0;
}

uint64_t task_stacks_find(struct task_stacks *stacks, struct tasks *tasks, uint64_t top,
			  uint64_t now_ns)
{
	uint64_t task = tasks_find_on_stack(tasks, top - 1);

	if (task || now_ns < stacks->next_walk_ns)
		return task;
	stacks->next_walk_ns = now_ns + TASK_STACKS_WALK_NS;
	task = task_stacks_search(stacks->guest, top);
	if (!task)
		task = task_stacks_walk(stacks, tasks, top - 1);
	task_stacks_learn(stacks, task);
	return task;
}
