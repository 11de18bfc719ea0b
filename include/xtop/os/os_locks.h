/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks that tasks wait for, and who holds them: what an operating system tells at the end of each
 * pass over its tasks (os_waits.h). Resolver's thread; plain data.
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
	OS_LOCK_PERCPU_READERS, /* its readers, for whom the writer waits that has closed it */
	OS_LOCK_RT_MUTEX,
	OS_LOCK_SEMAPHORE,
	OS_LOCK_FUTEX,
	OS_LOCK_FUTEX_PI, /* with priority inheritance: the kernel knows its owner */
	OS_LOCK_SPINLOCK, /* vCPUs wait for it, not tasks that sleep */
};
#define N_OS_LOCK_KINDS 10

/* How sure it is who holds a lock. */
enum os_holder {
	OS_HOLDER_UNKNOWN, /* the lock does not tell, or nobody holds it now */
	OS_HOLDER_EXACT,
	OS_HOLDER_LAST,    /* the last task that took it to read, or a semaphore; others may hold
			    * it instead */
	OS_HOLDER_GUESS,   /* what looks like a mutex in the memory of the process says so; of a
			    * spinlock: no other task was in the kernel */
	OS_HOLDER_NO_TASK, /* the lock names something that is no known task */
};
#define N_OS_HOLDERS 5

#define OS_LOCK_NAME_BYTES 64

struct os_lock_task {
	uint32_t pid;       /* the thread's; 0: none */
	uint32_t cpu;       /* that it runs on */
	bool on_cpu;
	uint8_t state;      /* enum os_wait_state, while it is on no CPU */
	uint64_t waited_ns; /* how long it has been on no CPU; 0: not known */
	uint64_t address;   /* of what the kernel keeps of it */
	void *kept;         /* what the sink keeps with its wait; NULL: nothing */
	bool has_moved;     /* that wait is over: KEPT tells who it is, but not where */
};

/* A task that waits for a lock. */
struct os_lock_wait {
	enum os_lock_kind kind;
	uint64_t address; /* the lock's */
	uint64_t space;   /* the address is one of user code in this address space; 0: kernel */
	bool is_new;      /* nothing was told of this wait before */
	/*
	 * The waiter has moved on since the pass looked at it. There is no name and no holder, and
	 * the waiter is as it was at that look.
	 */
	bool is_over;
	char name[OS_LOCK_NAME_BYTES]; /* raw; "": none */
	enum os_holder certainty;
	struct os_lock_task waiter, holder; /* holder.pid is 0 where no task is known */
};

#endif
