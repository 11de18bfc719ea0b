// SPDX-License-Identifier: GPL-2.0-or-later
/* The tasks that make others wait: they hold locks, and send late; see waits.c. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "locks_module.h"
#include "waits.h"

static atomic_int percpu_read; /* whether a reader has the lock, and the writer does not know yet */

/* A page that comes 1.4 s after it is touched. */
static struct slow_page {
	enum site site; /* its lock is held until the page comes */
	char *page;
	int faults;
} slow_pages[] = { { .site = RWSEM }, { .site = MUTEX }, { .site = DIRECTORY } };
#define N_SLOW_PAGES (sizeof(slow_pages) / sizeof(slow_pages[0]))

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

void prepare_locks(void)
{
	prepare_pi();
	for (size_t i = 0; i < N_SLOW_PAGES; i++) {
		prepare_slow_page(&slow_pages[i]);
		start(bring_pages, &slow_pages[i]);
	}
}

void start_module_holder(enum site site)
{
	for (size_t i = 0; i < sizeof(module_holders) / sizeof(module_holders[0]); i++)
		if (module_holders[i].site == site)
			start(hold_in_module, &module_holders[i]);
}

void start_module_holders(void)
{
	start_module_holder(RTNL);
	start_module_holder(RT_MUTEX);
	start_module_holder(SEMAPHORE);
	start(read_percpu, NULL);
	start(write_percpu, NULL);
}

void start_holders(void)
{
	start(hold_mutex, NULL);
	start(send_bytes, NULL);
	start(hold_pi, NULL);
	start(write_slowly, &slow_pages[0]);
	start(fill_pipe, &slow_pages[1]);
	start(list_slowly, &slow_pages[2]);
}
