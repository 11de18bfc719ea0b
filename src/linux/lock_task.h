/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sleeping task of a Linux guest, and the lock that it waits for. Plain data. */
#ifndef XTOP_LINUX_LOCK_TASK_H
#define XTOP_LINUX_LOCK_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/types.h"
#include "xtop/os/os_locks.h"

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

#endif
