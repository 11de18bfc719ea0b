// SPDX-License-Identifier: GPL-2.0-or-later
/* The tasks that wait, site by site; see waits.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "locks_module.h"
#include "waits.h"
#include "work.h"

static _Thread_local unsigned number; /* this thread's number among those of its site */

WORK static void wait_pipe(void)
{
	char byte;

	if (read(pipes[0], &byte, 1) != 1)
		die("pipe");
}

WORK static void wait_socket(void)
{
	char byte;

	if (recv(sockets[number][0], &byte, 1, 0) != 1)
		die("socket");
}

WORK static void wait_futex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

/* Linux arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/linux/futex.h */
#define CALL_FUTEX_WAITV  449
#define CALL_FUTEX_WAIT   455
#define FUTEX2_32_PRIVATE 0x82U
#define FUTEX2_ANY        0xffffffffUL

static long call_futex_waitv(int *word, unsigned value)
{
	const struct {
		uint64_t value, word;
		uint32_t flags, reserved;
	} one = { value, (uintptr_t)word, FUTEX2_32_PRIVATE, 0 };

	return syscall(CALL_FUTEX_WAITV, &one, 1, 0, NULL, CLOCK_MONOTONIC);
}

static long call_futex_wait(int *word, unsigned value)
{
	return syscall(CALL_FUTEX_WAIT, word, (unsigned long)value, FUTEX2_ANY, FUTEX2_32_PRIVATE,
		       NULL, CLOCK_MONOTONIC);
}

/* Takes the mutex as glibc does, with another system call. */
WORK static void wait_futexv(void)
{
	while (__atomic_exchange_n(&mutex.__data.__lock, MUTEX_LOCKED_WAITERS, __ATOMIC_ACQUIRE))
		call_futex_waitv(&mutex.__data.__lock, MUTEX_LOCKED_WAITERS);
	mutex.__data.__owner = gettid();
	mutex.__data.__nusers++;
	pthread_mutex_unlock(&mutex);
}

WORK static void wait_futex2(void)
{
	while (__atomic_exchange_n(&mutex.__data.__lock, MUTEX_LOCKED_WAITERS, __ATOMIC_ACQUIRE))
		call_futex_wait(&mutex.__data.__lock, MUTEX_LOCKED_WAITERS);
	mutex.__data.__owner = gettid();
	mutex.__data.__nusers++;
	pthread_mutex_unlock(&mutex);
}

/* A kernel that has the call compares the value first. */
static bool has_call(long (*call)(int *word, unsigned value))
{
	int word = 0;

	return call(&word, 1) < 0 && errno == EAGAIN;
}

WORK static void wait_rwsem(void)
{
	if (pwrite(file, "w", 1, 0) != 1)
		die("write");
}

WORK static void wait_mutex(void)
{
	if (write(slow_pipe[1], "w", 1) != 1)
		die("write to the pipe");
}

WORK static void wait_pi(void)
{
	pthread_mutex_lock(&pi_mutex);
	pthread_mutex_unlock(&pi_mutex);
}

WORK static void wait_dir(void)
{
	if (!unlink("/run/waits-dir/absent"))
		die("delete");
}

void use_module(unsigned request, unsigned ms)
{
	if (ioctl(module, request, ms))
		die("/proc/xtop-locks");
}

WORK static void wait_rtmutex(void)
{
	use_module(LOCKS_RT_MUTEX, 0);
}

WORK static void wait_sema(void)
{
	use_module(LOCKS_SEMAPHORE, 0);
}

WORK static void wait_percpu(void)
{
	use_module(LOCKS_PERCPU_READ, 0);
}

WORK static void wait_rtnl(void)
{
	use_module(LOCKS_RTNL, 0);
}

WORK static void wait_mmap(void)
{
	unsigned char there;

	if (mincore(waiters, 1, &there))
		die("mincore");
}

WORK static void wait_disk(void)
{
	static _Alignas(4096) char bytes[4096];

	if (pread(disk, bytes, sizeof(bytes), 0) != sizeof(bytes))
		die("disk");
}

/* Each thread has a page of its own, which is neither mapped nor in memory when it is touched. */
WORK static void wait_fault(void)
{
	static _Thread_local volatile char *page;

	if (!page) {
		page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, cached_disk, number << 20);
		if (page == MAP_FAILED || madvise((void *)page, 4096, MADV_RANDOM))
			die("map the disk");
	}
	if (madvise((void *)page, 4096, MADV_DONTNEED) ||
	    posix_fadvise(cached_disk, 0, 0, POSIX_FADV_DONTNEED))
		die("forget pages");
	(void)*page;
}

WORK static void wait_timer(void)
{
	nap(700);
}

static void (*const waits[N_SITES])(void) = { wait_pipe,   wait_socket,  wait_futex, wait_futexv,
					      wait_futex2, wait_rwsem,   wait_mutex, wait_pi,
					      wait_dir,    wait_rtmutex, wait_sema,  wait_percpu,
					      wait_rtnl,   wait_mmap,    wait_disk,  wait_fault,
					      wait_timer };

bool exists(enum site site)
{
	switch (site) {
	case FUTEXV:
		return has_call(call_futex_waitv);
	case FUTEX2:
		return has_call(call_futex_wait);
	case RT_MUTEX:
	case SEMAPHORE:
	case PERCPU:
	case RTNL:
	case MMAP:
		return module >= 0;
	case DISK:
	case FAULT:
		return disk >= 0;
	default:
		return true;
	}
}

/* At a site that has a lock, waits until held[SITE] is WANTED. */
static void until_held(enum site site, int wanted)
{
	if (site == PIPE || site == SOCKET || site == TIMER)
		return;
	if (site == DISK || site == FAULT) {
		nap(50);
		return;
	}
	if (site == FUTEXV || site == FUTEX2)
		site = FUTEX;
	while (atomic_load(&held[site]) != wanted)
		nap(20);
}

static void *run_waiter(void *pointer)
{
	struct waiter *waiter = pointer;
	enum site site = (enum site)((waiter - waiters[0]) / MAX_TASKS);

	number = (unsigned)((waiter - waiters[0]) % MAX_TASKS);
	prctl(PR_SET_NAME, names[site]);
	for (;;) {
		uint64_t since, waited;

		until_held(site, 1);
		if (site == PERCPU)
			nap(300); /* the writer shuts the lock after some grace periods of RCU */
		since = now_ns();
		atomic_store(&waiter->since_ns, since);
		waits[site]();
		waited = now_ns() - since;
		atomic_store(&waiter->since_ns, 0);
		atomic_fetch_add(&waiter->waited_ns, waited);
		if (waited > atomic_load(&waiter->longest_ns))
			atomic_store(&waiter->longest_ns, waited);
		until_held(site, 0);
	}
	return NULL;
}

void start_waiters(enum site site)
{
	for (int i = 0; i < tasks[site]; i++)
		start(run_waiter, &waiters[site][i]);
}
