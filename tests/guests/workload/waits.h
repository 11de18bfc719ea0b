// SPDX-License-Identifier: GPL-2.0-or-later
/* What the files of the program waits share; see waits.c. */
#ifndef WORKLOAD_WAITS_H
#define WORKLOAD_WAITS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum site {
	PIPE,
	SOCKET,
	FUTEX,
	FUTEXV,
	FUTEX2,
	RWSEM,
	MUTEX,
	PI,
	DIRECTORY,
	RT_MUTEX,
	SEMAPHORE,
	PERCPU,
	RTNL,
	MMAP,
	DISK,
	FAULT,
	TIMER,
	N_SITES
};
extern const char *const names[N_SITES];
extern const int tasks[N_SITES];
#define MAX_TASKS            8
#define MUTEX_LOCKED_WAITERS 2 /* glibc sysdeps/nptl/lowlevellock.h */

extern struct waiter {
	_Atomic uint64_t since_ns;              /* when the present wait began; 0: none */
	_Atomic uint64_t waited_ns, longest_ns; /* longest: of waits not told yet */
} (*waiters)[MAX_TASKS];                        /* memory that all processes share */

extern int pipes[2], sockets[MAX_TASKS][2], file, slow_pipe[2];
extern int module;            /* /proc/xtop-locks, open; negative: none */
extern int disk, cached_disk; /* a disk without, with the page cache; negative: none */
extern pthread_mutex_t mutex, pi_mutex;
extern atomic_int held[N_SITES]; /* whether the lock of a site is held */

uint64_t now_ns(void);
void nap(unsigned ms);
void die(const char *what);
void start(void *(*run)(void *), void *argument);

/* --- waits_sites.c ---------------------------------------------------------------------------- */

/* Takes a lock of the module, and holds it for so long. */
void use_module(unsigned request, unsigned ms);
/* Whether the kernel and the guest have what the site needs. */
bool exists(enum site site);
void start_waiters(enum site site);

/* --- waits_holders.c -------------------------------------------------------------------------- */

/* Prepares the mutex with priority inheritance, and the pages that come late. */
void prepare_locks(void);
void start_holders(void);
void start_module_holder(enum site site);
void start_module_holders(void); /* holders of all locks of the module but MMAP */

#endif
