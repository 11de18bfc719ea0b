/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks that tasks wait for, and the tasks that hold them. An operating system reports them at the
 * end of each pass over its tasks (os_waits.h). Resolver's thread; plain data.
 */
#ifndef XTOP_OS_LOCKS_H
#define XTOP_OS_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum os_lock_kind {
	OS_LOCK_NONE, /* not a lock */
	OS_LOCK_MUTEX,
	OS_LOCK_RWSEM,
	OS_LOCK_PERCPU_RWSEM,
	/* the readers of a per-CPU rwsem; a writer that has closed it waits for them */
	OS_LOCK_PERCPU_READERS,
	OS_LOCK_RT_MUTEX,
	OS_LOCK_SEMAPHORE,
	OS_LOCK_FUTEX,
	OS_LOCK_FUTEX_PI, /* futex with priority inheritance: the kernel knows its owner */
	OS_LOCK_SPINLOCK, /* vCPUs spin for it; no task sleeps */
};
#define N_OS_LOCK_KINDS 10

/* How certain the holder of a lock is. */
enum os_holder {
	OS_HOLDER_UNKNOWN, /* the lock does not name its holder, or nobody holds it now */
	OS_HOLDER_EXACT,
	/*
	 * the last task that took a semaphore, or an rwsem as a reader; others may hold it instead
	 */
	OS_HOLDER_LAST,
	/*
	 * for a futex: read from what looks like a mutex in the process's memory; for a spinlock:
	 * no other task was in the kernel
	 */
	OS_HOLDER_GUESS,
	OS_HOLDER_NO_TASK, /* the lock names an address or pid that is no known task */
};
#define N_OS_HOLDERS 5

#define OS_LOCK_NAME_BYTES 64

struct os_lock_task {
	uint32_t pid; /* thread id; 0 if there is no task */
	uint32_t cpu; /* CPU that the task runs on */
	bool on_cpu;
	uint8_t state;      /* enum os_wait_state, while it is on no CPU */
	uint64_t waited_ns; /* how long the task has been on no CPU; 0 if unknown */
	uint64_t address;   /* address of the kernel's structure for the task */
	void *kept;         /* data that the sink stored with the task's wait; NULL if none */
	/* the task's wait is over: KEPT still identifies the task, but its stack is out of date */
	bool has_moved;
};

/* A task that waits for a lock. */
struct os_lock_wait {
	enum os_lock_kind kind;
	uint64_t address; /* address of the lock */
	uint64_t space;   /* address space, if ADDRESS belongs to user code; 0 for the kernel */
	bool is_new;      /* the wait was not reported before */
	/*
	 * The waiter has moved on since the pass looked at it. NAME and HOLDER are empty, and
	 * WAITER shows the state at that look.
	 */
	bool is_over;
	char name[OS_LOCK_NAME_BYTES]; /* raw; "" if the lock has no known name */
	enum os_holder certainty;
	struct os_lock_task waiter, holder; /* holder.pid is 0 if no task is known */
};

#endif
