/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the owner of a lock; see lock_owner.h.
 *
 *   mutex.owner    task | 1 has waiters, 2 handoff, 4 pickup             (from 4.10)
 *   rw_semaphore   count: bit 0 a writer has it, from bit 8 on readers   (from 5.3)
 *                  owner: task | 1 took it to read, 2 and 4 about spinning
 *                  A writer sets owner after count and clears owner before count, so that a writer
 *                  in owner holds the lock. A reader leaves its address behind.
 *   rt_mutex       owner: task | 1 has waiters. The waiter has task.pi_blocked_on->lock.
 *   semaphore      last_holder: task that took it last, from 6.16; zeroed when that task gives it
 *                  back. Older kernels have no owner
 *   percpu rwsem   writer: task that has closed it and waits for the last readers to go. After
 *                  that, while the writer has the lock, nothing names it
 *   futex          the kernel knows only the owner of a PI futex: its waiters wait for an
 *                  rt_mutex behind it. A mutex of glibc (nptl/bits/struct_mutex.h) has
 *                  { int lock, unsigned count, int owner, unsigned nusers, int kind }
 *                  where lock is the word: 2 means locked, with waiters. A robust mutex has the
 *                  owner's thread id in the word. A waiter for such a mutex calls futex() with
 *                  the value 2, or with bit 31 set. Condition variables, semaphores and barriers
 *                  wait with other values, and are no locks.
 */
#include "config.h"

#include "linux/lock_owner.h"

#include "linux/lock_memory.h"

#define OWNER_FLAGS        7ULL
#define MUTEX_WAITERS      1ULL
#define RWSEM_WRITER       1ULL
#define RWSEM_READER_SHIFT 8
#define RWSEM_OWNER_READER 1ULL
#define FUTEX_TID          0x3fffffffU /* Linux include/uapi/linux/futex.h */

/* glibc sysdeps/nptl/pthreadP.h */
#define GLIBC_LOCKED_WAITERS 2
#define GLIBC_ROBUST         0x10
#define GLIBC_KINDS          0x3ff /* 0x200: the mutex's type was set to PTHREAD_MUTEX_NORMAL */
#define GLIBC_MAX_USERS      (1U << 22)

enum glibc_word { GLIBC_LOCK, GLIBC_COUNT, GLIBC_OWNER, GLIBC_USERS, GLIBC_KIND, N_GLIBC };

static struct lock_owner lock_owner_of(uint64_t word)
{
	if (!(word & ~OWNER_FLAGS))
		return (struct lock_owner){ .certainty = OS_HOLDER_UNKNOWN };
	return (struct lock_owner){ .certainty = OS_HOLDER_EXACT, .task = word & ~OWNER_FLAGS };
}

/* The word MEMBER of LOCK; 0 if it cannot be read. */
static uint64_t lock_owner_read_word(const struct linux_guest *guest, uint64_t lock,
				     enum layout_member member)
{
	uint64_t word;

	return lock_memory_read_member(guest, lock, member, &word) ? word : 0;
}

/* A mutex with waiters in its list has the flag. Without the flag the wait is over. */
static struct lock_owner lock_owner_read_mutex(const struct linux_guest *guest, uint64_t lock)
{
	uint64_t owner = lock_owner_read_word(guest, lock, MUTEX_OWNER);

	return lock_owner_of(owner & MUTEX_WAITERS ? owner : 0);
}

static struct lock_owner lock_owner_read_rwsem(const struct linux_guest *guest, uint64_t lock)
{
	struct lock_owner unknown = { .certainty = OS_HOLDER_UNKNOWN }, holder;
	uint64_t count, owner;

	if (!lock_memory_read_member(guest, lock, RWSEM_COUNT, &count) ||
	    !lock_memory_read_member(guest, lock, RWSEM_OWNER, &owner))
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

static struct lock_owner lock_owner_read_rt_mutex(const struct linux_guest *guest, uint64_t lock)
{
	uint64_t owner = lock_owner_read_word(guest, lock, RT_MUTEX_OWNER);

	return lock_owner_of(owner & 6 ? 0 : owner);
}

static struct lock_owner lock_owner_read_semaphore(const struct linux_guest *guest, uint64_t lock)
{
	struct lock_owner holder =
		lock_owner_of(lock_owner_read_word(guest, lock, SEMAPHORE_LAST_HOLDER));

	if (holder.task)
		holder.certainty = OS_HOLDER_LAST;
	return holder;
}

/* The owner of a mutex of glibc, if the word at ADDRESS belongs to such a mutex. */
static struct lock_owner lock_owner_read_glibc(const struct linux_guest *guest, uint64_t address,
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

struct lock_owner lock_owner_read(const struct linux_guest *guest, const struct lock_wait *wait,
				   const struct memory_root *user)
{
	switch (wait->kind) {
	case OS_LOCK_MUTEX:
		return lock_owner_read_mutex(guest, wait->address);
	case OS_LOCK_RWSEM:
		return lock_owner_read_rwsem(guest, wait->address);
	case OS_LOCK_RT_MUTEX:
	case OS_LOCK_FUTEX_PI:
		return lock_owner_read_rt_mutex(guest, wait->rt_mutex);
	case OS_LOCK_FUTEX:
		return lock_owner_read_glibc(guest, wait->address, user);
	case OS_LOCK_SEMAPHORE:
		return lock_owner_read_semaphore(guest, wait->address);
	case OS_LOCK_PERCPU_RWSEM:
		return lock_owner_of(
			lock_owner_read_word(guest, wait->address, PERCPU_RWSEM_WRITER));
	case OS_LOCK_PERCPU_READERS: /* readers are only counted, for each CPU */
	case OS_LOCK_SPINLOCK:
	case OS_LOCK_NONE:
		break;
	}
	return (struct lock_owner){ .certainty = OS_HOLDER_UNKNOWN };
}
