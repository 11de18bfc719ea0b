// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tasks that wait at known places, and tell how long they did. The program runs alone, with the
 * word waits on the kernel's command line. Each waiter measures its own waits by the clock; once a
 * second the console gets for each site
 *
 *	waits: CLOCK_MS SITE TASKS WAITED_MS LONGEST_MS
 *
 * where WAITED is the sum of all its tasks' waits since the start and LONGEST the longest one;
 * waits that go on count. Sites:
 *
 *	pipe     read an empty pipe, for ever
 *	socket   receive from a socket that gets a byte every 1.3 s
 *	futex    a mutex that is held for 1.5 s of 1.6 s
 *	rwsem    write to a file while another write to it, which holds the inode's lock, waits
 *	         1.4 s for a page that userfaultfd() brings
 *	timer    sleep for 0.7 s, again and again
 *
 * A crowd of threads waits beside them: 100 for ever, 40 wake once a second.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

enum site { PIPE, SOCKET, FUTEX, RWSEM, TIMER, N_SITES };
static const char *const names[N_SITES] = { "pipe", "socket", "futex", "rwsem", "timer" };
static const int tasks[N_SITES] = { 5, 3, 4, 3, 6 };
#define MAX_TASKS 8

static struct waiter {
	_Atomic uint64_t since_ns; /* of the wait that goes on; 0: none */
	_Atomic uint64_t waited_ns, longest_ns;
} (*waiters)[MAX_TASKS]; /* shared by all processes */

static int pipes[2], sockets[2], file;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int held;    /* the mutex */
static atomic_int writing; /* the file's lock is held */
static char *slow_page;
static int faults;

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

	if (recv(sockets[0], &byte, 1, 0) != 1)
		die("socket");
}

WORK static void wait_futex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

WORK static void wait_rwsem(void)
{
	if (pwrite(file, "w", 1, 0) != 1)
		die("write");
}

WORK static void wait_timer(void)
{
	nap(700);
}

static void (*const waits[N_SITES])(void) = { wait_pipe, wait_socket, wait_futex, wait_rwsem,
					      wait_timer };

/* Futex and file: the next wait begins when the lock is held again. */
static void until_held(enum site site)
{
	atomic_int *held_now = site == FUTEX ? &held : &writing;

	if (site != FUTEX && site != RWSEM)
		return;
	while (!atomic_load(held_now))
		nap(20);
}

static void *run_waiter(void *pointer)
{
	struct waiter *waiter = pointer;
	enum site site = (enum site)((waiter - waiters[0]) / MAX_TASKS);

	prctl(PR_SET_NAME, names[site]);
	for (;;) {
		uint64_t since, waited;

		until_held(site);
		since = now_ns();
		atomic_store(&waiter->since_ns, since);
		waits[site]();
		waited = now_ns() - since;
		atomic_store(&waiter->since_ns, 0);
		atomic_fetch_add(&waiter->waited_ns, waited);
		if (waited > atomic_load(&waiter->longest_ns))
			atomic_store(&waiter->longest_ns, waited);
		if (site == FUTEX)
			while (atomic_load(&held))
				nap(20);
		if (site == RWSEM)
			while (atomic_load(&writing))
				nap(20);
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

static void *hold_mutex(void *argument)
{
	prctl(PR_SET_NAME, "holder");
	for (;;) {
		pthread_mutex_lock(&mutex);
		atomic_store(&held, 1);
		nap(1500);
		atomic_store(&held, 0);
		pthread_mutex_unlock(&mutex);
		nap(100);
	}
	return argument;
}

static void *send_bytes(void *argument)
{
	prctl(PR_SET_NAME, "sender");
	for (;;) {
		nap(1300);
		for (int i = 0; i < tasks[SOCKET]; i++)
			if (send(sockets[1], "b", 1, 0) != 1)
				die("send");
	}
	return argument;
}

/* Its write holds the inode's lock until the page comes. */
static void *write_slowly(void *argument)
{
	prctl(PR_SET_NAME, "writer");
	for (;;) {
		madvise(slow_page, 4096, MADV_DONTNEED);
		if (pwrite(file, slow_page, 1, 0) != 1)
			die("slow write");
		atomic_store(&writing, 0);
		nap(100);
	}
	return argument;
}

static void *bring_pages(void *argument)
{
	static char page[4096];
	struct uffd_msg message;

	prctl(PR_SET_NAME, "pager");
	while (read(faults, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_copy copy = { .dst = (uintptr_t)slow_page,
					    .src = (uintptr_t)page,
					    .len = sizeof(page) };

		atomic_store(&writing, 1);
		nap(1400);
		if (ioctl(faults, UFFDIO_COPY, &copy))
			die("UFFDIO_COPY");
	}
	die("userfaultfd");
	return argument;
}

static void prepare_slow_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	slow_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	area.range.start = (uintptr_t)slow_page;
	area.range.len = 4096;
	if (slow_page == MAP_FAILED || faults < 0 || ioctl(faults, UFFDIO_API, &api) ||
	    ioctl(faults, UFFDIO_REGISTER, &area))
		die("userfaultfd");
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

		most = atomic_load(&waiter->longest_ns);
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
	if (waiters == MAP_FAILED || file < 0 || pipe(pipes) ||
	    socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets))
		die("prepare");
	prepare_slow_page();
	for (int site = 0; site < N_SITES; site++)
		for (int i = 0; i < tasks[site]; i++)
			start(run_waiter, &waiters[site][i]);
	start(hold_mutex, NULL);
	start(send_bytes, NULL);
	start(bring_pages, NULL);
	start(write_slowly, NULL);
	start_crowd();
	run_ready("waits");
	for (;;) {
		nap(1000);
		for (int site = 0; site < N_SITES; site++)
			tell((enum site)site);
	}
}
