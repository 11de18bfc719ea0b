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
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "locks_module.h"
#include "work.h"

enum site { PIPE, SOCKET, FUTEX, FUTEXV, FUTEX2, RWSEM, MUTEX, PI, DIRECTORY, RT_MUTEX, SEMAPHORE,
	    PERCPU, RTNL, MMAP, DISK, FAULT, TIMER, N_SITES };
static const char *const names[N_SITES] = { "pipe", "socket", "futex", "futexv", "futex2", "rwsem",
					    "mutex", "pi", "dir", "rtmutex", "sema", "percpu",
					    "rtnl", "mmap", "disk", "fault", "timer" };
static const int tasks[N_SITES] = { 5, 3, 4, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 6 };
#define MAX_TASKS 8

static struct waiter {
	_Atomic uint64_t since_ns;              /* when the present wait began; 0: none */
	_Atomic uint64_t waited_ns, longest_ns; /* longest: of those that tell() has not seen yet */
} (*waiters)[MAX_TASKS]; /* shared by all processes */

static _Thread_local unsigned number; /* this thread's number among those of its site */
static int pipes[2], sockets[MAX_TASKS][2], file, slow_pipe[2];
static int module; /* negative: the kernel does not have it */
static int disk, cached_disk; /* negative: there is none; without and with the page cache */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, pi_mutex;
static atomic_int held[N_SITES]; /* the lock of the site */
static atomic_int percpu_read;   /* a reader has it, and the writer does not know yet */

/* A page that comes 1.4 s after it is touched. */
static struct slow_page {
	enum site site; /* whose lock is held meanwhile */
	char *page;
	int faults;
} slow_pages[] = { { .site = RWSEM }, { .site = MUTEX }, { .site = DIRECTORY } };
#define N_SLOW_PAGES (sizeof(slow_pages) / sizeof(slow_pages[0]))

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void nap(unsigned ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&time, NULL);
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* --- the waits -------------------------------------------------------------------------------- */

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
#define CALL_FUTEX_WAITV     449
#define CALL_FUTEX_WAIT      455
#define FUTEX2_32_PRIVATE    0x82U
#define FUTEX2_ANY           0xffffffffUL
#define MUTEX_LOCKED_WAITERS 2 /* glibc sysdeps/nptl/lowlevellock.h */

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

/* Takes a lock of the module, and holds it for so long. */
static void use_module(unsigned request, unsigned ms)
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

static void (*const waits[N_SITES])(void) = {
	wait_pipe, wait_socket, wait_futex,   wait_futexv, wait_futex2, wait_rwsem, wait_mutex,
	wait_pi,   wait_dir,    wait_rtmutex, wait_sema,   wait_percpu, wait_rtnl,  wait_mmap,
	wait_disk, wait_fault,  wait_timer
};

static bool exists(enum site site)
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

/* Those of a lock: the next wait begins when the lock is held again. */
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

/* --- who makes them wait ---------------------------------------------------------------------- */

static void start(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument))
		die("thread");
}

static void hold(pthread_mutex_t *lock, enum site site)
{
	for (;;) {
		pthread_mutex_lock(lock);
		atomic_store(&held[site], 1);
		nap(1500);
		atomic_store(&held[site], 0);
		pthread_mutex_unlock(lock);
		nap(100);
	}
}

static void *hold_mutex(void *argument)
{
	prctl(PR_SET_NAME, "holder");
	hold(&mutex, FUTEX);
	return argument;
}

static void *hold_pi(void *argument)
{
	prctl(PR_SET_NAME, "piholder");
	hold(&pi_mutex, PI);
	return argument;
}

static void *send_bytes(void *argument)
{
	prctl(PR_SET_NAME, "sender");
	for (;;) {
		nap(1300);
		for (int i = 0; i < tasks[SOCKET]; i++)
			if (send(sockets[i][1], "b", 1, 0) != 1)
				die("send");
	}
	return argument;
}

/* Its write holds the inode's lock until the page comes. */
static void *write_slowly(void *argument)
{
	struct slow_page *slow = argument;

	prctl(PR_SET_NAME, "writer");
	for (;;) {
		madvise(slow->page, 4096, MADV_DONTNEED);
		if (pwrite(file, slow->page, 1, 0) != 1)
			die("slow write");
		atomic_store(&held[RWSEM], 0);
		nap(100);
	}
	return NULL;
}

/* Its write waits for room in a pipe, whose mutex it holds. Then it empties the pipe. */
static void *fill_pipe(void *argument)
{
	struct slow_page *slow = argument;
	char bytes[64];

	prctl(PR_SET_NAME, "pipewriter");
	for (;;) {
		madvise(slow->page, 4096, MADV_DONTNEED);
		if (write(slow_pipe[1], slow->page, 1) != 1)
			die("slow write to the pipe");
		atomic_store(&held[MUTEX], 0);
		nap(100);
		if (read(slow_pipe[0], bytes, sizeof(bytes)) < 1)
			die("read from the pipe");
	}
	return NULL;
}

/* Lists a directory again and again. The first entry goes to the page. */
static void *list_slowly(void *argument)
{
	struct slow_page *slow = argument;
	int directory = open("/run/waits-dir", O_RDONLY | O_DIRECTORY);

	prctl(PR_SET_NAME, "lister");
	for (;;) {
		madvise(slow->page, 4096, MADV_DONTNEED);
		if (lseek(directory, 0, SEEK_SET) ||
		    syscall(SYS_getdents64, directory, slow->page, 4096) < 1)
			die("list");
		atomic_store(&held[DIRECTORY], 0);
		nap(100);
	}
	return NULL;
}

static void *bring_pages(void *argument)
{
	static char page[4096];
	struct slow_page *slow = argument;
	struct uffd_msg message;

	prctl(PR_SET_NAME, "pager");
	while (read(slow->faults, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_copy copy = { .dst = (uintptr_t)slow->page,
					    .src = (uintptr_t)page,
					    .len = sizeof(page) };

		atomic_store(&held[slow->site], 1);
		nap(1400);
		if (ioctl(slow->faults, UFFDIO_COPY, &copy))
			die("UFFDIO_COPY");
	}
	die("userfaultfd");
	return NULL;
}

/* Threads that hold a lock of the module that one task can have. */
static struct module_holder {
	const char *name;
	unsigned request;
	enum site site;
} module_holders[] = {
	{ "rtholder", LOCKS_RT_MUTEX, RT_MUTEX },
	{ "semaholder", LOCKS_SEMAPHORE, SEMAPHORE },
	{ "rtnlholder", LOCKS_RTNL, RTNL },
	{ "mmholder", LOCKS_MMAP_WRITE, MMAP },
};

static void *hold_in_module(void *argument)
{
	const struct module_holder *holder = argument;

	prctl(PR_SET_NAME, holder->name);
	for (;;) {
		atomic_store(&held[holder->site], 1);
		use_module(holder->request, 1500);
		atomic_store(&held[holder->site], 0);
		nap(100);
	}
	return NULL;
}

/*
 * A reader holds the lock for 1.9 s, beginning 0.1 s before the writer comes. Other readers then
 * wait for the writer.
 */
static void *read_percpu(void *argument)
{
	prctl(PR_SET_NAME, "percpureader");
	for (;;) {
		atomic_store(&percpu_read, 1);
		use_module(LOCKS_PERCPU_READ, 1900);
		while (atomic_load(&held[PERCPU]))
			nap(20);
	}
	return argument;
}

static void *write_percpu(void *argument)
{
	prctl(PR_SET_NAME, "percpuwriter");
	for (;;) {
		while (!atomic_exchange(&percpu_read, 0))
			nap(20);
		nap(100);
		atomic_store(&held[PERCPU], 1);
		use_module(LOCKS_PERCPU_WRITE, 0);
		atomic_store(&held[PERCPU], 0);
	}
	return argument;
}

static void prepare_slow_page(struct slow_page *slow)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	slow->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	slow->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	area.range.start = (uintptr_t)slow->page;
	area.range.len = 4096;
	if (slow->page == MAP_FAILED || slow->faults < 0 || ioctl(slow->faults, UFFDIO_API, &api) ||
	    ioctl(slow->faults, UFFDIO_REGISTER, &area))
		die("userfaultfd");
}

static void prepare_pi(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(&pi_mutex, &attributes))
		die("mutex with priority inheritance");
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

static void start_waiters(enum site site)
{
	for (int i = 0; i < tasks[site]; i++)
		start(run_waiter, &waiters[site][i]);
}

static void start_module_holder(enum site site)
{
	for (size_t i = 0; i < sizeof(module_holders) / sizeof(module_holders[0]); i++)
		if (module_holders[i].site == site)
			start(hold_in_module, &module_holders[i]);
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

static void start_module(void)
{
	start_mmap();
	start_module_holder(RTNL);
	start_module_holder(RT_MUTEX);
	start_module_holder(SEMAPHORE);
	start(read_percpu, NULL);
	start(write_percpu, NULL);
}

static void start_crowd(void)
{
	for (int i = 0; i < 140; i++) {
		start(run_crowd, i < 40 ? &file : NULL);
		nap(7); /* they do not wake at the same time */
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
	prepare_pi();
	for (size_t i = 0; i < N_SLOW_PAGES; i++) {
		prepare_slow_page(&slow_pages[i]);
		start(bring_pages, &slow_pages[i]);
	}
	if (module >= 0)
		start_module();
	for (int site = 0; site < N_SITES; site++)
		if (exists((enum site)site) && site != MMAP)
			start_waiters((enum site)site);
	start(hold_mutex, NULL);
	start(send_bytes, NULL);
	start(hold_pi, NULL);
	start(write_slowly, &slow_pages[0]);
	start(fill_pipe, &slow_pages[1]);
	start(list_slowly, &slow_pages[2]);
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
