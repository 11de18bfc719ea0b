/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock that a sleeping task of a Linux guest waits for, found by what lies on its stack.
 * Everything is read while the guest runs, and is hostile: lists are followed for a bounded number
 * of steps. Resolver's thread.
 */
#ifndef LINUX_LOCK_FINDER_H
#define LINUX_LOCK_FINDER_H

#include <stddef.h>

#include "linux/kernel/linux_guest.h"
#include "xtop/base/limit.h"
#include "xtop/os/os_locks.h"

#define LOCKS_MAX_STEPS LIMIT(1024, 32) /* along the list of a lock's waiters */

/* A task that sleeps. */
struct lock_task {
	uint64_t address, mm; /* mm 0: a kernel thread */
	uint64_t sp;          /* its kernel stack begins there */
	const void *stack;    /* the stack's bytes */
	size_t stack_bytes;
	const struct memory_root *user; /* its page tables; NULL: not known */
};

/* A task's wait for a lock. */
struct lock_wait {
	enum os_lock_kind kind; /* OS_LOCK_NONE: none is known */
	uint64_t address;       /* the lock's; a futex: of the word, in user memory */
	uint64_t space;         /* the mm_struct that a futex is in; 0: the kernel's memory */
	uint64_t rt_mutex;      /* the kernel's lock behind a PI futex */
	bool is_shared;         /* a futex: other processes may use it, too */
};

/*
 * TASK's functions say that it waits for a lock of KIND: OS_LOCK_PERCPU_RWSEM may be for the lock
 * or for its readers, OS_LOCK_FUTEX for any futex. False: which one cannot be told, or the futex is
 * not a lock; *WAIT is untouched.
 */
bool locks_find(const struct linux_guest *guest, const struct lock_task *task,
		enum os_lock_kind kind, struct lock_wait *wait);

#endif
