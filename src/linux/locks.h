/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock that a sleeping task of a Linux guest waits for, found by what lies on its stack; and
 * who holds that lock. Everything is read while the guest runs, and is hostile: lists are followed
 * for a bounded number of steps. Resolver's thread.
 */
#ifndef XTOP_LINUX_LOCKS_H
#define XTOP_LINUX_LOCKS_H

#include <stddef.h>

#include "linux/kernel/linux_guest.h"
#include "xtop/limit.h"
#include "xtop/os_locks.h"

#define LOCKS_MAX_STEPS LIMIT(1024, 32) /* along the list of a lock's waiters */

/* A task that sleeps. */
struct lock_task {
	uint64_t address, mm;    /* mm 0: a kernel thread */
	struct memory_root user; /* the page tables of mm */
	bool has_user;           /* `user` is known */
	uint64_t sp;             /* its kernel stack begins there */
	const void *stack;       /* the stack's bytes */
	size_t stack_bytes;
};

/* A task's wait for a lock. */
struct lock_wait {
	enum os_lock_kind kind; /* OS_LOCK_NONE: none is known */
	uint64_t address;       /* the lock's; a futex: of the word, in user memory */
	uint64_t space;         /* the mm_struct that a futex is in; 0: the kernel's memory */
	uint64_t rt_mutex;      /* the kernel's lock behind a PI futex */
	bool is_shared;         /* a futex: other processes may use it, too */
	bool is_mutex;          /* a futex: the value waited with is a mutex's */
};

/* Who holds a lock: a task, or a thread id that user code wrote. */
struct lock_owner {
	enum os_holder certainty;
	uint64_t task; /* address; 0: none */
	uint32_t tid;  /* OS_HOLDER_GUESS: in the waiter's pid namespace */
};

/*
 * TASK's functions say that it waits for a lock of KIND. False: which one cannot be told, or the
 * futex is not a lock; *WAIT is untouched.
 */
bool locks_find(const struct linux_guest *guest, const struct lock_task *task,
		enum os_lock_kind kind, struct lock_wait *wait);
/* USER: the page tables of a futex's process; NULL: not known. */
struct lock_owner locks_read_owner(const struct linux_guest *guest, const struct lock_wait *wait,
				   const struct memory_root *user);
/*
 * What the lock is, "mmap_lock" or "i_rwsem of access.log", as far as memory tells: raw bytes, with
 * a NUL. MM: of a task that waits.
 */
void locks_read_name(const struct linux_guest *guest, const struct lock_wait *wait, uint64_t mm,
		     char name[OS_LOCK_NAME_BYTES]);

#endif
