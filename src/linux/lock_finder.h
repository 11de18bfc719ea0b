/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the lock that a sleeping task of a Linux guest waits for, from the contents of its stack.
 * Everything is read while the guest runs, and is hostile: lists are followed for a bounded number
 * of steps. Resolver's thread.
 */
#ifndef LINUX_LOCK_FINDER_H
#define LINUX_LOCK_FINDER_H

#include <stddef.h>

#include "linux/kernel/linux_guest.h"
#include "xtop/base/limit.h"
#include "xtop/os/os_locks.h"

#define LOCKS_MAX_STEPS LIMIT(1024, 32) /* steps along the list of a lock's waiters */

/* A task that sleeps. */
struct lock_task {
	uint64_t address, mm; /* addresses; mm is 0 for a kernel thread */
	uint64_t sp;          /* start of the live part of the kernel stack */
	const void *stack;    /* the stack's bytes */
	size_t stack_bytes;
	const struct memory_root *user; /* the process's page tables; NULL if unknown */
};

/* A task's wait for a lock. */
struct lock_wait {
	enum os_lock_kind kind; /* OS_LOCK_NONE if no lock is known */
	uint64_t address;       /* address of the lock; for a futex, of the word in user memory */
	uint64_t space;         /* mm_struct of a futex; 0 for a lock in kernel memory */
	uint64_t rt_mutex;      /* the kernel's lock behind a PI futex */
	bool is_shared;         /* other processes may use the futex as well */
};

/*
 * Finds the lock that TASK waits for. KIND is what the functions on TASK's stack wait for:
 * OS_LOCK_PERCPU_RWSEM may stand for the lock or for its readers, OS_LOCK_FUTEX for any futex.
 * Returns false and leaves *WAIT untouched if the lock cannot be determined, or if the futex is not
 * a lock.
 */
bool locks_find(const struct linux_guest *guest, const struct lock_task *task,
		enum os_lock_kind kind, struct lock_wait *wait);

#endif
