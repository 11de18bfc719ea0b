/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the lock that a task waits for from the task's stack; see lock_finder.h.
 *
 * A task that waits for a mutex, rw_semaphore, semaphore or percpu_rw_semaphore has a record of
 * that wait in a local variable, that is, on its stack (Linux kernel/locking/mutex.c, rwsem.c,
 * semaphore.c, percpu-rwsem.c):
 *
 *   struct mutex_waiter      { list_head list; task_struct *task; ... }
 *   struct rwsem_waiter      { list_head list; task_struct *task; ... }
 *   struct semaphore_waiter  { list_head list; task_struct *task; ... }
 *   struct wait_queue_entry  { unsigned flags; task_struct *private; func; list_head entry; }
 *
 *   lock.wait_list ◄─► waiter.list ◄─► waiter.list ◄─► back to lock.wait_list
 *
 * So the record is found without knowing the frame: it has the task's own address, and beside it
 * two pointers whose targets point back. All entries of this list but one are records on the stacks
 * of the tasks that they name. The one exception is the member wait_list of the lock. A new waiter
 * is the last one, so the lock is mostly the very next entry.
 *
 * Kernels with CONFIG_DETECT_HUNG_TASK_BLOCKER (from 6.16) keep the lock in task_struct.blocker:
 *
 *   lock | 0 mutex, 1 semaphore, 2 rw_semaphore for reading, 3 for writing
 *
 * From about 6.17 task_struct.blocked_on is the mutex that the task waits for. With
 * CONFIG_DEBUG_MUTEXES older kernels have a mutex_waiter there, which lies on the task's own stack.
 * In 7.3 the list of waiters has no head any more, so without `blocker` only blocked_on leads to
 * the mutex.
 *
 * The writer of a percpu_rw_semaphore waits three times (percpu_down_write()): for RCU, in the list
 * while there is another writer, and at last, in no list, for the readers that were there before.
 * By then percpu_rw_semaphore.writer names the writer, and block is 1.
 */
#include "config.h"

#include "linux/lock_finder.h"

#include <string.h>

#include "linux/kernel/arch.h"
#include "linux/lock_futex.h"
#include "linux/lock_memory.h"

#define BLOCKER_KIND 3ULL

#define LOCK_FINDER_TRIES 3 /* attempts to follow a list that changes meanwhile */

/* innermost part of a stack that holds percpu_down_write() and the scheduler */
#define LOCK_FINDER_WRITER_BYTES 1024U

static const struct lock_record {
	enum layout_member list, task; /* members of the record on the stack */
	enum layout_member wait_list;  /* member of the lock */
} lock_records[N_OS_LOCK_KINDS] = {
	[OS_LOCK_MUTEX] = { MUTEX_WAITER_LIST, MUTEX_WAITER_TASK, MUTEX_WAIT_LIST },
	[OS_LOCK_RWSEM] = { RWSEM_WAITER_LIST, RWSEM_WAITER_TASK, RWSEM_WAIT_LIST },
	[OS_LOCK_SEMAPHORE] = { SEMAPHORE_WAITER_LIST, SEMAPHORE_WAITER_TASK, SEMAPHORE_WAIT_LIST },
	[OS_LOCK_PERCPU_RWSEM] = { WAIT_ENTRY_LIST, WAIT_ENTRY_TASK, PERCPU_RWSEM_WAIT_LIST },
};

/* --- records on stacks ------------------------------------------------------------------------ */

struct list_links {
	uint64_t next, previous;
};

/*
 * Whether the neighbours of the list entry at ADDRESS point back to it. The guest runs: other
 * waiters come and go.
 */
static bool lock_finder_is_linked(const struct linux_guest *guest, uint64_t address)
{
	struct list_links links, next, previous;

	return lock_memory_read(guest, address, &links, sizeof(links)) &&
	       lock_memory_read(guest, links.next, &next, sizeof(next)) &&
	       next.previous == address &&
	       lock_memory_read(guest, links.previous, &previous, sizeof(previous)) &&
	       previous.next == address;
}

/* Finds the list_head of the record on TASK's stack. */
static bool lock_finder_find_record(const struct linux_guest *guest, const struct lock_task *task,
				    const struct lock_record *record, uint64_t *addressp)
{
	unsigned list = layout_offset(&guest->layout, record->list),
		 owner = layout_offset(&guest->layout, record->task);
	const char *stack = task->stack;

	for (size_t at = 0; at + owner + sizeof(uint64_t) <= task->stack_bytes &&
			    at + list + sizeof(struct list_links) <= task->stack_bytes;
	     at += sizeof(uint64_t)) {
		uint64_t address;

		memcpy(&address, stack + at + owner, sizeof(address));
		if (address != task->address || !lock_finder_is_linked(guest, task->sp + at + list))
			continue;
		*addressp = task->sp + at + list;
		return true;
	}
	return false;
}

/* Whether the list entry at ADDRESS is a record on the stack of the task that it names. */
static bool lock_finder_is_record(const struct linux_guest *guest, const struct lock_record *record,
				  uint64_t address)
{
	uint64_t task, stack, start = address - layout_offset(&guest->layout, record->list);

	return lock_memory_read(guest, start + layout_offset(&guest->layout, record->task), &task,
				sizeof(task)) &&
	       lock_memory_read_member(guest, task, TASK_STACK, &stack) && linux_is_kernel(stack) &&
	       address - stack < arch_stack_bytes(guest);
}

/*
 * Finds the list entry that is not a record, starting at the record at ADDRESS. A task that has got
 * the lock has no record any more, and the list has no link to its old record.
 */
static bool lock_finder_find_head(const struct linux_guest *guest, const struct lock_record *record,
				  uint64_t address, uint64_t *headp)
{
	uint64_t at = address;

	for (unsigned steps = 0; steps < LOCK_FINDER_MAX_STEPS; steps++) {
		struct list_links links, next;

		if (!lock_memory_read(guest, at, &links, sizeof(links)) || links.next == address ||
		    !lock_memory_read(guest, links.next, &next, sizeof(next)) ||
		    next.previous != at)
			return false;
		at = links.next;
		if (!lock_finder_is_record(guest, record, at)) {
			*headp = at;
			return lock_finder_is_linked(guest, at);
		}
	}
	return false;
}

static bool lock_finder_find_by_record(const struct linux_guest *guest,
				       const struct lock_task *task, enum os_lock_kind kind,
				       uint64_t *lockp)
{
	const struct lock_record *record = &lock_records[kind];
	const enum layout_member needed[] = { record->list, record->task, record->wait_list,
					      TASK_STACK };
	uint64_t address, head;

	if (!layout_has_all(&guest->layout, needed))
		return false;
	for (int tries = 0; tries < LOCK_FINDER_TRIES; tries++) {
		if (!lock_finder_find_record(guest, task, record, &address) ||
		    !lock_finder_find_head(guest, record, address, &head))
			continue;
		*lockp = head - layout_offset(&guest->layout, record->wait_list);
		return true;
	}
	return false;
}

/* --- other ways to the lock ------------------------------------------------------------------- */

static bool lock_finder_find_blocker(const struct linux_guest *guest, const struct lock_task *task,
				     enum os_lock_kind kind, uint64_t *lockp)
{
	static const enum os_lock_kind kinds[BLOCKER_KIND + 1] = { OS_LOCK_MUTEX, OS_LOCK_SEMAPHORE,
								   OS_LOCK_RWSEM, OS_LOCK_RWSEM };
	uint64_t word;

	if (!lock_memory_read_member(guest, task->address, TASK_BLOCKER, &word) ||
	    kinds[word & BLOCKER_KIND] != kind || !linux_is_kernel(word))
		return false;
	*lockp = word & ~BLOCKER_KIND;
	return true;
}

static bool lock_finder_find_blocked_on(const struct linux_guest *guest,
					const struct lock_task *task, enum os_lock_kind kind,
					uint64_t *lockp)
{
	uint64_t lock;

	if (kind != OS_LOCK_MUTEX ||
	    !lock_memory_read_member(guest, task->address, TASK_BLOCKED_ON, &lock) ||
	    !linux_is_kernel(lock) || lock % sizeof(lock) || lock - task->sp < task->stack_bytes)
		return false;
	*lockp = lock;
	return true;
}

static bool lock_finder_find_rt_mutex(const struct linux_guest *guest, const struct lock_task *task,
				      uint64_t *lockp)
{
	uint64_t waiter;

	return lock_memory_read_member(guest, task->address, TASK_PI_BLOCKED_ON, &waiter) &&
	       lock_memory_read_member(guest, waiter, RT_MUTEX_WAITER_LOCK, lockp) &&
	       linux_is_kernel(*lockp);
}

/* A PI futex has an rt_mutex behind it. All other rt_mutexes belong to the kernel. */
static bool lock_finder_find_user(const struct linux_guest *guest, const struct lock_task *task,
				  enum os_lock_kind kind, struct lock_wait *wait)
{
	struct lock_futex futex;
	bool is_futex = lock_futex_get(guest, task, &futex);
	uint64_t rt_mutex;

	if (is_futex)
		*wait = (struct lock_wait){ .kind = OS_LOCK_FUTEX,
					    .address = futex.address,
					    .space = task->mm,
					    .is_shared = futex.is_shared };
	if (!lock_finder_find_rt_mutex(guest, task, &rt_mutex))
		return kind == OS_LOCK_FUTEX && is_futex && futex.is_mutex && futex.is_wait;
	if (is_futex && futex.is_pi)
		wait->kind = OS_LOCK_FUTEX_PI;
	else
		*wait = (struct lock_wait){ .kind = OS_LOCK_RT_MUTEX, .address = rt_mutex };
	wait->rt_mutex = rt_mutex;
	return true;
}

/* --- the writer of a percpu_rw_semaphore ------------------------------------------------------ */

/* Whether TASK has closed the percpu_rw_semaphore at ADDRESS, and waits for its readers. */
static bool lock_finder_is_closed_by(const struct linux_guest *guest, const struct lock_task *task,
				     uint64_t address)
{
	uint64_t head = address + layout_offset(&guest->layout, PERCPU_RWSEM_WAIT_LIST), writer;
	uint32_t block;

	return lock_memory_read_member(guest, address, PERCPU_RWSEM_WRITER, &writer) &&
	       writer == task->address &&
	       lock_memory_read(guest, address + layout_offset(&guest->layout, PERCPU_RWSEM_BLOCK),
				&block, sizeof(block)) &&
	       block == 1 && lock_finder_is_linked(guest, head);
}

/*
 * Finds the percpu_rw_semaphore that TASK has closed. Its writer is in no list. But the lock names
 * the writer, and the innermost functions on the writer's stack still need the lock: the stack has
 * the address of the lock or of its member writer.
 */
static bool lock_finder_find_closed(const struct linux_guest *guest, const struct lock_task *task,
				    uint64_t *lockp)
{
	static const enum layout_member needed[] = { PERCPU_RWSEM_WRITER, PERCPU_RWSEM_BLOCK,
						     PERCPU_RWSEM_WAIT_LIST };
	size_t end = task->stack_bytes < LOCK_FINDER_WRITER_BYTES ? task->stack_bytes
								  : LOCK_FINDER_WRITER_BYTES;
	const char *stack = task->stack;

	if (!layout_has_all(&guest->layout, needed))
		return false;
	for (size_t at = 0; at + sizeof(uint64_t) <= end; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, stack + at, sizeof(word));
		if (!lock_finder_is_closed_by(guest, task, word))
			word -= layout_offset(&guest->layout, PERCPU_RWSEM_WRITER);
		if (!lock_finder_is_closed_by(guest, task, word))
			continue;
		*lockp = word;
		return true;
	}
	return false;
}

static bool lock_finder_find_percpu_rwsem(const struct linux_guest *guest,
					  const struct lock_task *task, struct lock_wait *wait)
{
	wait->kind = OS_LOCK_PERCPU_RWSEM;
	if (lock_finder_find_by_record(guest, task, OS_LOCK_PERCPU_RWSEM, &wait->address))
		return true;
	wait->kind = OS_LOCK_PERCPU_READERS;
	return lock_finder_find_closed(guest, task, &wait->address);
}

bool lock_finder_find(const struct linux_guest *guest, const struct lock_task *task,
		      enum os_lock_kind kind, struct lock_wait *wait)
{
	struct lock_wait found = { .kind = kind };

	if (linux_is_short(guest)) /* words of 8 bytes are read here */
		return false;
	switch (kind) {
	case OS_LOCK_MUTEX:
	case OS_LOCK_RWSEM:
	case OS_LOCK_SEMAPHORE:
		if (!lock_finder_find_blocker(guest, task, kind, &found.address) &&
		    !lock_finder_find_by_record(guest, task, kind, &found.address) &&
		    !lock_finder_find_blocked_on(guest, task, kind, &found.address))
			return false;
		break;
	case OS_LOCK_PERCPU_RWSEM:
		if (!lock_finder_find_percpu_rwsem(guest, task, &found))
			return false;
		break;
	case OS_LOCK_RT_MUTEX:
	case OS_LOCK_FUTEX_PI:
	case OS_LOCK_FUTEX:
		if (!lock_finder_find_user(guest, task, kind, &found))
			return false;
		break;
	case OS_LOCK_PERCPU_READERS:
	case OS_LOCK_SPINLOCK:
	case OS_LOCK_NONE:
		return false;
	}
	*wait = found;
	return true;
}
