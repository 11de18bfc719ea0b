// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tasks that wait at known places, and tell how long they did. The program runs alone, with the
 * word waits on the kernel's command line. Each waiter measures its own waits by the clock; once a
 * second the console gets for each site
 *
 *	waits: CLOCK_MS SITE TASKS WAITED_MS LONGEST_MS
 *
 * where WAITED is the sum of all its tasks' waits since the start, and LONGEST the longest one that
 * has ended since the line before; waits that go on count. Sites:
 *
 *	pipe     read an empty pipe, for ever
 *	socket   receive from a socket, each task from its own, that gets a byte every 1.3 s
 *	futex    a mutex that is held for 1.5 s of 1.6 s
 *	futexv   the same mutex, by futex_waitv(), where the kernel has it (from 5.16)
 *	futex2   the same mutex, by futex_wait(), where the kernel has it (from 6.7)
 *	rwsem    write to a file while another write to it, which holds the inode's lock, waits
 *	         1.4 s for a page that userfaultfd() brings
 *	timer    sleep for 0.7 s, again and again
 *	mutex    write to a pipe while another write to it, which holds the pipe's mutex, waits
 *	         1.4 s for a page that userfaultfd() brings
 *	pi       a mutex with priority inheritance that is held for 1.5 s of 1.6 s
 *	dir      delete from a directory while a thread that lists it, which holds the inode's
 *	         lock to read, waits 1.4 s for a page that userfaultfd() brings
 *
 * and, where the kernel has our module (locks_module.c), whose locks are held for 1.5 s of 1.6 s:
 *
 *	rtmutex  an rt_mutex
 *	sema     a semaphore
 *	percpu   read a percpu_rw_semaphore while a writer waits for an earlier reader
 *	rtnl     the kernel's rtnl_mutex
 *	mmap     ask which pages of the own process are in memory, for which its mmap_lock is read,
 *	         while another thread has that lock to write. Such a process can do little else, so
 *	         that is a child process, which says "mmap: PID"
 *
 * and, where there is a disk whose reads take 0.5 s (init):
 *
 *	disk     read it
 *	fault    touch a page of it that is mapped
 *
 * The threads that hold these locks are called by the lock: holder, writer, pipewriter, piholder,
 * lister, rtholder, semaholder, percpuwriter, rtnlholder, mmholder. A child process runs into a
 * deadlock of two mutexes, says so as "deadlock: CLOCK_MS" when both threads wait, and is gone
 * after 8 s, again and again.
 *
 * A crowd of threads waits beside them: 100 for ever, 40 wake once a second.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "waits.h"
#include "work.h"

const char *const names[N_SITES] = { "pipe",  "socket", "futex", "futexv",  "futex2", "rwsem",
				     "mutex", "pi",     "dir",   "rtmutex", "sema",   "percpu",
				     "rtnl",  "mmap",   "disk",  "fault",   "timer" };
const int tasks[N_SITES] = { 5, 3, 4, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 6 };

struct waiter (*waiters)[MAX_TASKS];
int pipes[2], sockets[MAX_TASKS][2], file, slow_pipe[2], module, disk, cached_disk;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, pi_mutex;
atomic_int held[N_SITES];

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void nap(unsigned ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&time, NULL);
}

void die(const char *what)
{
	perror(what);
	exit(1);
}

void start(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument))
		die("thread");
}

/* --- a deadlock ------------------------------------------------------------------------------- */

static pthread_mutex_t both[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static atomic_int n_locked;

/* Takes its own mutex, waits until the other thread has the other one, and then wants that. */
WORK static void *take_both(void *first)
{
	prctl(PR_SET_NAME, first == &both[0] ? "abba" : "baab");
	pthread_mutex_lock(first);
	atomic_fetch_add(&n_locked, 1);
	while (atomic_load(&n_locked) < 2)
		nap(10);
	pthread_mutex_lock(first == &both[0] ? &both[1] : &both[0]);
	return NULL;
}

static bool has_waiters(pthread_mutex_t *lock)
{
	return __atomic_load_n(&lock->__data.__lock, __ATOMIC_ACQUIRE) == MUTEX_LOCKED_WAITERS;
}

static void run_deadlock(void)
{
	prctl(PR_SET_NAME, "deadlock");
	nap(5000);
	start(take_both, &both[0]);
	start(take_both, &both[1]);
	/* Until both wait: glibc's lock then has the value of one with waiters. */
	while (!has_waiters(&both[0]) || !has_waiters(&both[1]))
		nap(10);
	fprintf(stderr, "deadlock: %llu\n", (unsigned long long)(now_ns() / 1000000));
	nap(8000);
	_exit(0);
}

static void *make_deadlocks(void *argument)
{
	prctl(PR_SET_NAME, "parent");
	for (;;) {
		pid_t child = fork();

		if (!child)
			run_deadlock();
		if (child < 0 || waitpid(child, NULL, 0) != child)
			die("fork");
	}
	return argument;
}

/* --- processes and threads -------------------------------------------------------------------- */

static void *run_crowd(void *argument)
{
	prctl(PR_SET_NAME, "crowd");
	for (;;) {
		if (argument)
			nap(1000);
		else
			pause();
	}
	return argument;
}

static void start_mmap(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (child)
		return;
	fprintf(stderr, "mmap: %d\n", getpid());
	start_waiters(MMAP);
	start_module_holder(MMAP);
	for (;;)
		pause();
}

static void start_crowd(void)
{
	for (int i = 0; i < 140; i++) {
		start(run_crowd, i < 40 ? &file : NULL);
		nap(7); /* so that the threads do not all wake at one time */
	}
}

/* --- the truth -------------------------------------------------------------------------------- */

static void tell(enum site site)
{
	uint64_t now = now_ns(), waited = 0, longest = 0;

	for (int i = 0; i < tasks[site]; i++) {
		struct waiter *waiter = &waiters[site][i];
		uint64_t since = atomic_load(&waiter->since_ns), most;
		uint64_t goes_on = since ? now - since : 0;

		most = atomic_exchange(&waiter->longest_ns, 0);
		most = goes_on > most ? goes_on : most;
		longest = most > longest ? most : longest;
		waited += atomic_load(&waiter->waited_ns) + goes_on;
	}
	fprintf(stderr, "waits: %llu %s %d %llu %llu\n", (unsigned long long)(now / 1000000),
		names[site], tasks[site], (unsigned long long)(waited / 1000000),
		(unsigned long long)(longest / 1000000));
}

int main(void)
{
	run_init("waits");
	waiters = mmap(NULL, N_SITES * sizeof(*waiters), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	file = open("/run/waits-file", O_CREAT | O_RDWR, 0600);
	module = open("/proc/xtop-locks", O_RDONLY);
	disk = open("/dev/nullb0", O_RDONLY | O_DIRECT);
	cached_disk = open("/dev/nullb0", O_RDONLY);
	if (waiters == MAP_FAILED || file < 0 || mkdir("/run/waits-dir", 0700) || pipe(pipes) ||
	    pipe(slow_pipe))
		die("prepare");
	for (int i = 0; i < tasks[SOCKET]; i++)
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets[i]))
			die("sockets");
	prepare_locks();
	if (module >= 0) {
		start_mmap();
		start_module_holders();
	}
	for (int site = 0; site < N_SITES; site++)
		if (exists((enum site)site) && site != MMAP)
			start_waiters((enum site)site);
	start_holders();
	start(make_deadlocks, NULL);
	start_crowd();
	run_ready("waits");
	for (;;) {
		nap(1000);
		for (int site = 0; site < N_SITES; site++)
			if (exists((enum site)site))
				tell((enum site)site);
	}
}
