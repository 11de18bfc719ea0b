/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds a process that reveals where a kernel of 32 bits keeps mappings and files; see
 * process_layout.h. Kernel threads have no mappings, and any process may be changing. So several
 * tasks are tried: the running task, its parents up to the idle task, the idle task's children,
 * which include init, and init's children. The members of task_struct that lead there have this
 * order (layout_32.c):
 *
 *   real_parent parent children.{next,prev} sibling.{next,prev} group_leader
 *
 * All members come from one process. start_time is found along with them; it lies between
 * group_leader and comm. start_boottime, which follows, was read at the same moment
 * (kernel/fork.c): a guest that was never suspended has the same time there.
 *
 * Resolver's thread.
 */
#include "config.h"

#include "linux/process/process_layout.h"

#include "linux/kernel/layout_32.h"

#define WORD                 4
#define PROCESS_MAX_PARENTS  8
#define PROCESS_MAX_CHILDREN 8        /* children of a task that are tried */
#define START_MIN_NS         1000000U /* no process starts as early */
#define START_MAX_NS         (1ULL << 62)
#define START_READ_NS        1000000U /* longest time between the readings of both clocks */

/*
 * Whether start_time is at ADDRESS. Small words after pointers look like times between 3.2 and 4.3
 * s: such start times are not found.
 */
static bool process_layout_is_start(const struct linux_guest *guest, uint64_t address)
{
	uint64_t start, boot;

	return linux_read_u64(guest, address, &start) &&
	       linux_read_u64(guest, address + sizeof(start), &boot) && start >= START_MIN_NS &&
	       start < START_MAX_NS && !linux_is_kernel_of(guest, start) && boot >= start &&
	       boot - start < START_READ_NS;
}

/* Finds start_time. If no place, or several, match, it stays unknown. */
static void process_layout_find_start(struct linux_guest *guest, uint64_t task)
{
	unsigned offset = layout_offset(&guest->layout, TASK_GROUP_LEADER) + WORD, found = 0;

	for (; offset < layout_offset(&guest->layout, TASK_COMM); offset += WORD)
		if (process_layout_is_start(guest, task + offset)) {
			guest->layout.values[TASK_START_TIME] = found ? -1 : (int32_t)offset;
			found++;
		}
}

static bool process_layout_try(struct linux_guest *guest, uint64_t task)
{
	struct process_trial trial = { .guest = *guest, .task = task };

	if (!task || !mm_layout_32_find(&trial) || !file_layout_32_find(&trial))
		return false;
	guest->layout = trial.guest.layout;
	guest->vmemmap = trial.guest.vmemmap;
	process_layout_find_start(guest, task);
	if (linux_is_i386(guest))
		task_layout_i386_find(guest, task);
	return true;
}

static uint64_t process_layout_parent(const struct linux_guest *guest, uint64_t task)
{
	unsigned offset = layout_offset(&guest->layout, TASK_GROUP_LEADER) - 6 * WORD;
	uint64_t parent;

	return linux_read_word(guest, task + offset, &parent) &&
			       linux_is_kernel_of(guest, parent)
		       ? parent
		       : 0;
}

/* Tries the children of TASK. *FIRST becomes the oldest child. */
static bool process_layout_try_children(struct linux_guest *guest, uint64_t task, uint64_t *first)
{
	unsigned leader = layout_offset(&guest->layout, TASK_GROUP_LEADER);
	uint64_t head = task + leader - 4 * WORD, link = head;

	*first = 0;
	for (unsigned i = 0; i < PROCESS_MAX_CHILDREN; i++) {
		uint64_t child;

		if (!linux_read_word(guest, link, &link) || !linux_is_kernel_of(guest, link) ||
		    link == head)
			return false;
		child = link - (leader - 2 * WORD);
		*first = *first ? *first : child;
		if (process_layout_try(guest, child))
			return true;
	}
	return false;
}

bool process_layout_32_find(struct linux_guest *guest)
{
	uint64_t task = layout_32_read_current(guest), parent, init;

	if (!task || !layout_has(&guest->layout, TASK_GROUP_LEADER) ||
	    !layout_has(&guest->layout, TASK_PID))
		return false;
	for (unsigned i = 0; i < PROCESS_MAX_PARENTS; i++) {
		if (process_layout_try(guest, task))
			return true;
		parent = process_layout_parent(guest, task);
		if (!parent || parent == task)
			break;
		task = parent;
	}
	return process_layout_try_children(guest, task, &init) ||
	       (init && process_layout_try_children(guest, init, &init));
}
