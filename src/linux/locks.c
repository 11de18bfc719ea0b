/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a task's stack to the lock that it waits for, and to the lock's holder; see locks.h.
 *
 * A task that waits for a mutex, rw_semaphore or semaphore has a record of that wait in a local
 * variable, hence on its stack (Linux kernel/locking/mutex.c, rwsem.c, semaphore.c):
 *
 *   struct mutex_waiter      { list_head list; task_struct *task; ... }
 *   struct rwsem_waiter      { list_head list; task_struct *task; ... }
 *   struct semaphore_waiter  { list_head list; task_struct *task; ... }
 *
 *   lock.wait_list ◄─► waiter.list ◄─► waiter.list ◄─► back to lock.wait_list
 *
 * So it is found without knowing the frame: the task's own address, and before it two pointers
 * whose targets point back. All entries of that list but one are records on the stacks of the tasks
 * that they name. The other one is the member wait_list of the lock. A new waiter is the last one,
 * so the lock is mostly the very next entry.
 *
 * Kernels with CONFIG_DETECT_HUNG_TASK_BLOCKER (from 6.16) keep the lock in task_struct.blocker:
 *
 *   lock | 0 mutex, 1 semaphore, 2 rw_semaphore for reading, 3 for writing
 *
 * Owners:
 *
 *   mutex.owner    task | 1 has waiters, 2 handoff, 4 pickup             (from 4.10)
 *   rw_semaphore   count: bit 0 a writer has it, from bit 8 on readers   (from 5.3)
 *                  owner: task | 1 took it to read, 2 and 4 about spinning
 *                  A writer sets owner after count and clears it before, so a writer there is one
 *                  that has it. A reader leaves its address behind.
 *   rt_mutex       owner: task | 1 has waiters. The waiter has task.pi_blocked_on->lock.
 *   semaphore      has no owner
 *   futex          the kernel knows no owner but that of a PI futex, whose waiters wait for an
 *                  rt_mutex behind it. A mutex of glibc (nptl/bits/struct_mutex.h) has
 *                  { int lock, unsigned count, int owner, unsigned nusers, int kind }
 *                  where lock is the word: 2 means locked, with waiters. A robust one has the
 *                  owner's thread id in the word. Who waits for such a mutex calls futex() with
 *                  the value 2, or with bit 31 set. Condition variables, semaphores and barriers
 *                  wait with other values, and are no locks.
 */
#include "config.h"

#include "linux/locks.h"

#include <stdio.h>
#include <string.h>

#include "linux/kernel/member.h"
#include "linux/process/path.h"
#include "linux/process/process_arch.h"
#include "linux/process/sleeper_arch.h"

#define OWNER_FLAGS        7ULL
#define MUTEX_WAITERS      1ULL
#define RT_MUTEX_WAITERS   1ULL
#define RWSEM_WRITER       1ULL
#define RWSEM_READER_SHIFT 8
#define RWSEM_OWNER_READER 1ULL
#define BLOCKER_KIND       3ULL

/* Linux include/uapi/linux/futex.h and arch/x86/entry/syscalls/syscall_64.tbl */
#define FUTEX_CALL        202
#define FUTEX_COMMAND     0x7fU
#define FUTEX_PRIVATE     0x80U
#define FUTEX_WAIT        0U
#define FUTEX_LOCK_PI     6U
#define FUTEX_WAIT_BITSET 9U
#define FUTEX_LOCK_PI2    13U
#define FUTEX_TID         0x3fffffffU
#define FUTEX_WAITERS     0x80000000U

/* glibc sysdeps/nptl/pthreadP.h */
#define GLIBC_LOCKED_WAITERS 2
#define GLIBC_ROBUST         0x10
#define GLIBC_KINDS          0x1ff
#define GLIBC_MAX_USERS      (1U << 22)

enum glibc_word { GLIBC_LOCK, GLIBC_COUNT, GLIBC_OWNER, GLIBC_USERS, GLIBC_KIND, N_GLIBC };

static const struct lock_record {
	enum layout_member list, task;   /* of the record on the stack */
	enum layout_member wait_list;    /* of the lock */
} lock_records[N_OS_LOCK_KINDS] = {
	[OS_LOCK_MUTEX] = { MUTEX_WAITER_LIST, MUTEX_WAITER_TASK, MUTEX_WAIT_LIST },
	[OS_LOCK_RWSEM] = { RWSEM_WAITER_LIST, RWSEM_WAITER_TASK, RWSEM_WAIT_LIST },
	[OS_LOCK_SEMAPHORE] = { SEMAPHORE_WAITER_LIST, SEMAPHORE_WAITER_TASK,
				SEMAPHORE_WAIT_LIST },
};

/* Reads memory as it is now. ADDRESS is the kernel's. */
static bool locks_read(const struct linux_guest *guest, uint64_t address, void *bytes, size_t n)
{
	return linux_is_kernel(address) && address % sizeof(uint64_t) == 0 &&
	       memory_read_again(guest->memory, guest->root, address, bytes, n) == n;
}

static bool locks_read_member(const struct linux_guest *guest, uint64_t object,
			      enum layout_member member, uint64_t *word)
{
	return layout_has(&guest->layout, member) && linux_is_kernel(object) &&
	       locks_read(guest, object + layout_offset(&guest->layout, member), word,
			  sizeof(*word));
}

/* --- records on stacks ------------------------------------------------------------------------ */

struct list_links {
	uint64_t next, previous;
};

/* Whether the entries on both sides of the one at ADDRESS point back to it. */
static bool locks_is_linked(const struct linux_guest *guest, uint64_t address,
			    const struct list_links *links)
{
	struct list_links next, previous;

	return locks_read(guest, links->next, &next, sizeof(next)) &&
	       next.previous == address &&
	       locks_read(guest, links->previous, &previous, sizeof(previous)) &&
	       previous.next == address;
}

/* The address of the list_head of the record on TASK's stack. */
static bool locks_find_record(const struct linux_guest *guest, const struct lock_task *task,
			      const struct lock_record *record, uint64_t *addressp)
{
	unsigned list = layout_offset(&guest->layout, record->list),
		 owner = layout_offset(&guest->layout, record->task);
	const char *stack = task->stack;

	for (size_t at = 0; at + owner + sizeof(uint64_t) <= task->stack_bytes &&
			    at + list + sizeof(struct list_links) <= task->stack_bytes;
	     at += sizeof(uint64_t)) {
		struct list_links links;
		uint64_t address;

		memcpy(&address, stack + at + owner, sizeof(address));
		if (address != task->address)
			continue;
		memcpy(&links, stack + at + list, sizeof(links));
		if (!locks_is_linked(guest, task->sp + at + list, &links))
			continue;
		*addressp = task->sp + at + list;
		return true;
	}
	return false;
}

/* Whether the list's entry at ADDRESS is a record on the stack of the task that it names. */
static bool locks_is_record(const struct linux_guest *guest, const struct lock_record *record,
			    uint64_t address)
{
	uint64_t task, stack, start = address - layout_offset(&guest->layout, record->list);

	return locks_read(guest, start + layout_offset(&guest->layout, record->task), &task,
			  sizeof(task)) &&
	       locks_read_member(guest, task, TASK_STACK, &stack) && linux_is_kernel(stack) &&
	       address - stack < process_arch_stack_bytes(&guest->layout);
}

/* The entry of the list with the record at ADDRESS that is no record itself. */
static bool locks_find_head(const struct linux_guest *guest, const struct lock_record *record,
			    uint64_t address, uint64_t *headp)
{
	uint64_t at = address;

	for (unsigned steps = 0; steps < LOCKS_MAX_STEPS; steps++) {
		struct list_links links, next;

		if (!locks_read(guest, at, &links, sizeof(links)) || links.next == address ||
		    !locks_read(guest, links.next, &next, sizeof(next)) || next.previous != at)
			return false;
		at = links.next;
		if (!locks_is_record(guest, record, at)) {
			*headp = at;
			return true;
		}
	}
	return false;
}

static bool locks_find_by_record(const struct linux_guest *guest, const struct lock_task *task,
				 enum os_lock_kind kind, uint64_t *lockp)
{
	const struct lock_record *record = &lock_records[kind];
	const enum layout_member needed[] = { record->list, record->task, record->wait_list,
					      TASK_STACK };
	uint64_t address, head;

	if (layout_missing(&guest->layout, needed, sizeof(needed) / sizeof(needed[0])) !=
		    LAYOUT_MEMBERS ||
	    !locks_find_record(guest, task, record, &address) ||
	    !locks_find_head(guest, record, address, &head))
		return false;
	*lockp = head - layout_offset(&guest->layout, record->wait_list);
	return true;
}

/* --- other ways to the lock ------------------------------------------------------------------- */

static bool locks_find_blocker(const struct linux_guest *guest, const struct lock_task *task,
			       enum os_lock_kind kind, uint64_t *lockp)
{
	static const enum os_lock_kind kinds[BLOCKER_KIND + 1] = {
		OS_LOCK_MUTEX, OS_LOCK_SEMAPHORE, OS_LOCK_RWSEM, OS_LOCK_RWSEM
	};
	uint64_t word;

	if (!locks_read_member(guest, task->address, TASK_BLOCKER, &word) ||
	    kinds[word & BLOCKER_KIND] != kind || !linux_is_kernel(word))
		return false;
	*lockp = word & ~BLOCKER_KIND;
	return true;
}

static bool locks_find_rt_mutex(const struct linux_guest *guest, const struct lock_task *task,
				uint64_t *lockp)
{
	uint64_t waiter;

	return locks_read_member(guest, task->address, TASK_PI_BLOCKED_ON, &waiter) &&
	       locks_read_member(guest, waiter, RT_MUTEX_WAITER_LOCK, lockp) &&
	       linux_is_kernel(*lockp);
}

/* The futex that TASK's system call was made for. */
static bool locks_find_futex(const struct lock_task *task, unsigned *command,
			     struct lock_wait *wait)
{
	struct system_call call;
	uint32_t value;

	if (!task->mm ||
	    !sleeper_arch_get_call(task->stack, task->stack_bytes, &call) ||
	    call.number != FUTEX_CALL)
		return false;
	value = (uint32_t)call.arguments[2];
	*command = (unsigned)call.arguments[1] & FUTEX_COMMAND;
	*wait = (struct lock_wait){ .kind = OS_LOCK_FUTEX,
				    .address = call.arguments[0],
				    .space = task->mm,
				    .is_shared = !(call.arguments[1] & FUTEX_PRIVATE),
				    .is_mutex = value == GLIBC_LOCKED_WAITERS ||
						value & FUTEX_WAITERS };
	return true;
}

static bool locks_find_pi(const struct linux_guest *guest, const struct lock_task *task,
			  struct lock_wait *wait)
{
	struct lock_wait futex = { .kind = OS_LOCK_RT_MUTEX };
	uint64_t rt_mutex;
	unsigned command;

	if (!locks_find_rt_mutex(guest, task, &rt_mutex))
		return false;
	if (locks_find_futex(task, &command, &futex) &&
	    (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2))
		futex.kind = OS_LOCK_FUTEX_PI;
	else
		futex = (struct lock_wait){ .kind = OS_LOCK_RT_MUTEX, .address = rt_mutex };
	futex.rt_mutex = rt_mutex;
	*wait = futex;
	return true;
}

bool locks_find(const struct linux_guest *guest, const struct lock_task *task,
		enum os_lock_kind kind, struct lock_wait *wait)
{
	struct lock_wait found = { .kind = kind };
	unsigned command;

	switch (kind) {
	case OS_LOCK_MUTEX:
	case OS_LOCK_RWSEM:
	case OS_LOCK_SEMAPHORE:
		if (!locks_find_blocker(guest, task, kind, &found.address) &&
		    !locks_find_by_record(guest, task, kind, &found.address))
			return false;
		break;
	case OS_LOCK_RT_MUTEX:
	case OS_LOCK_FUTEX_PI:
		return locks_find_pi(guest, task, wait);
	case OS_LOCK_FUTEX:
		if (!locks_find_futex(task, &command, &found))
			return false;
		if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2)
			return locks_find_pi(guest, task, wait);
		if ((command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) || !found.is_mutex)
			return false;
		break;
	case OS_LOCK_NONE:
		return false;
	}
	*wait = found;
	return true;
}

/* --- owners ----------------------------------------------------------------------------------- */

static struct lock_owner lock_owner_of(uint64_t word)
{
	if (!(word & ~OWNER_FLAGS))
		return (struct lock_owner){ .certainty = OS_HOLDER_UNKNOWN };
	return (struct lock_owner){ .certainty = OS_HOLDER_EXACT, .task = word & ~OWNER_FLAGS };
}

static struct lock_owner locks_read_mutex(const struct linux_guest *guest, uint64_t lock)
{
	uint64_t owner = 0;

	/* While somebody waits in its list, a mutex says so; else it is not this one any more. */
	if (!locks_read_member(guest, lock, MUTEX_OWNER, &owner) || !(owner & MUTEX_WAITERS))
		owner = 0;
	return lock_owner_of(owner);
}

static struct lock_owner locks_read_rwsem(const struct linux_guest *guest, uint64_t lock)
{
	struct lock_owner unknown = { .certainty = OS_HOLDER_UNKNOWN }, holder;
	uint64_t count, owner;

	if (!locks_read_member(guest, lock, RWSEM_COUNT, &count) ||
	    !locks_read_member(guest, lock, RWSEM_OWNER, &owner))
		return unknown;
	holder = lock_owner_of(owner);
	if (count & RWSEM_WRITER)
		return owner & RWSEM_OWNER_READER ? unknown : holder;
	if (!(owner & RWSEM_OWNER_READER) || (int64_t)count >> RWSEM_READER_SHIFT <= 0)
		return unknown;
	if (holder.task)
		holder.certainty = OS_HOLDER_LAST;
	return holder;
}

static struct lock_owner locks_read_rt_mutex(const struct linux_guest *guest, uint64_t lock)
{
	uint64_t owner = 0;

	if (!locks_read_member(guest, lock, RT_MUTEX_OWNER, &owner) || owner & 6)
		owner = 0;
	return lock_owner_of(owner);
}

/* A mutex of glibc, if that is what the word at ADDRESS belongs to. */
static struct lock_owner locks_read_glibc(const struct linux_guest *guest, uint64_t address,
					  const struct memory_root *user)
{
	struct lock_owner owner = { .certainty = OS_HOLDER_UNKNOWN };
	uint32_t words[N_GLIBC];

	if (!user || linux_is_kernel(address) ||
	    memory_read_again(guest->memory, *user, address, words, sizeof(words)) !=
		    sizeof(words) ||
	    words[GLIBC_KIND] & ~(uint32_t)GLIBC_KINDS || !words[GLIBC_OWNER] ||
	    !words[GLIBC_USERS] || words[GLIBC_USERS] > GLIBC_MAX_USERS)
		return owner;
	if (words[GLIBC_KIND] & GLIBC_ROBUST) {
		if ((words[GLIBC_LOCK] & FUTEX_TID) != words[GLIBC_OWNER])
			return owner;
	} else if (words[GLIBC_LOCK] != GLIBC_LOCKED_WAITERS) {
		return owner;
	}
	owner.certainty = OS_HOLDER_GUESS;
	owner.tid = words[GLIBC_OWNER];
	return owner;
}

struct lock_owner locks_read_owner(const struct linux_guest *guest, const struct lock_wait *wait,
				   const struct memory_root *user)
{
	switch (wait->kind) {
	case OS_LOCK_MUTEX:
		return locks_read_mutex(guest, wait->address);
	case OS_LOCK_RWSEM:
		return locks_read_rwsem(guest, wait->address);
	case OS_LOCK_RT_MUTEX:
	case OS_LOCK_FUTEX_PI:
		return locks_read_rt_mutex(guest, wait->rt_mutex);
	case OS_LOCK_FUTEX:
		return locks_read_glibc(guest, wait->address, user);
	case OS_LOCK_SEMAPHORE:
	case OS_LOCK_NONE:
		break;
	}
	return (struct lock_owner){ .certainty = OS_HOLDER_UNKNOWN };
}

/* --- names ------------------------------------------------------------------------------------ */

/* An inode is known by its i_mapping, which points to its own i_data. */
static bool locks_is_inode(const struct linux_guest *guest, uint64_t inode)
{
	uint64_t mapping;

	return layout_has(&guest->layout, INODE_DATA) &&
	       member_read_pointer(guest, inode, INODE_MAPPING, &mapping) &&
	       mapping == inode + layout_offset(&guest->layout, INODE_DATA);
}

static bool locks_name_inode(const struct linux_guest *guest, uint64_t lock,
			     char name[OS_LOCK_NAME_BYTES])
{
	char file[PATH_MAX_NAME_BYTES + 1];
	uint64_t inode;

	if (!layout_has(&guest->layout, INODE_RWSEM))
		return false;
	inode = lock - layout_offset(&guest->layout, INODE_RWSEM);
	if (!locks_is_inode(guest, inode))
		return false;
	if (path_read_inode_name(guest, inode, file))
		snprintf(name, OS_LOCK_NAME_BYTES, "i_rwsem of %.48s", file);
	else
		snprintf(name, OS_LOCK_NAME_BYTES, "i_rwsem of an inode");
	return true;
}

void locks_read_name(const struct linux_guest *guest, const struct lock_wait *wait, uint64_t mm,
		     char name[OS_LOCK_NAME_BYTES])
{
	name[0] = '\0';
	if (wait->kind != OS_LOCK_RWSEM)
		return;
	if (mm && layout_has(&guest->layout, MM_MMAP_LOCK) &&
	    wait->address == mm + layout_offset(&guest->layout, MM_MMAP_LOCK))
		snprintf(name, OS_LOCK_NAME_BYTES, "mmap_lock");
	else
		locks_name_inode(guest, wait->address, name);
}
