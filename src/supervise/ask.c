/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks Xen and xenstore in a child process, and kills a child that takes too long; see ask.h. In
 * the broker's process, and in main's as long as main has no broker.
 *
 *   child ── pipe ─► struct ask_answer, then answer.n listings
 *
 * Neither the child nor its parent looks at bytes of a guest.
 */
#include "config.h"

#include "supervise/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/xen/xen.h"

#define ASK_MAX_LIST 32768 /* most domains: Xen has no more numbers */

struct ask_answer {
	bool failed;
	char message[512]; /* why the question failed */
	size_t n;
};

/* One question: for DOMAIN, or for the list of all domains if DOMAIN is NULL. */
struct ask {
	const char *domain;
	int socket, pipe;
	pid_t child;
	uint64_t until_ns, cpu_ns; /* CPU_NS: the CPU time of the child that has ended */
};

/* --- the child -------------------------------------------------------------------------------- */

static struct xtop_error *ask_xen(const char *domain, struct guest_listing **listp, size_t *np)
{
	if (!domain)
		return xen_list(listp, np);
	*listp = calloc(1, sizeof(**listp));
	if (!*listp)
		return error_create("out of memory");
	*np = 1;
	return xen_find(domain, &(*listp)->info);
}

static bool ask_write(int fd, const void *bytes, size_t size_bytes)
{
	const char *from = bytes;
	ssize_t written = 0;

	for (; size_bytes && written >= 0; from += written, size_bytes -= (size_t)written)
		written = write(fd, from, size_bytes);
	return written >= 0;
}

static void ask_run(const struct ask *ask, int fd, pid_t parent)
{
	struct ask_answer answer = { .n = 0 };
	struct guest_listing *list = NULL;
	struct xtop_error *error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return;
	error = ask_xen(ask->domain, &list, &answer.n);
	if (error) {
		answer.failed = true;
		answer.n = 0;
		strncpy(answer.message, error_message(error), sizeof(answer.message) - 1);
	}
	if (ask_write(fd, &answer, sizeof(answer)))
		ask_write(fd, list, answer.n * sizeof(list[0]));
}

/* --- the parent ------------------------------------------------------------------------------- */

static struct xtop_error *ask_start(struct ask *ask)
{
	pid_t self = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_create_errno(errno, "cannot create a pipe");
	ask->child = fork();
	if (ask->child == 0) {
		close(fds[0]);
		if (ask->socket >= 0)
			/* main must see the socket's end when the broker dies */
			close(ask->socket);
		ask_run(ask, fds[1], self);
		_exit(0);
	}
	close(fds[1]);
	ask->pipe = fds[0];
	if (ask->child < 0) {
		close(fds[0]);
		return error_create_errno(errno, "cannot start a process");
	}
	ask->until_ns = clock_now_ns() + ASK_WAIT_NS;
	return NULL;
}

static uint64_t ask_time_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

/*
 * Kills the child, and waits up to 100 ms for its end. If a debugger holds the child, init reaps
 * the child later.
 */
static void ask_end(struct ask *ask)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct rusage usage = { .ru_maxrss = 0 };

	close(ask->pipe);
	kill(ask->child, SIGKILL);
	for (unsigned i = 0; i < 100 && wait4(ask->child, NULL, WNOHANG, &usage) == 0; i++)
		nanosleep(&nap, NULL);
	ask->cpu_ns = ask_time_ns(usage.ru_utime) + ask_time_ns(usage.ru_stime);
}

/* Waits until the child has written something or has ended. */
static struct xtop_error *ask_wait(const struct ask *ask)
{
	struct pollfd fds[] = {
		{ .fd = ask->pipe, .events = POLLIN },
		{ .fd = ask->socket, .events = 0 }, /* POLLHUP only */
	};
	uint64_t now_ns = clock_now_ns();
	uint64_t wait_ns = now_ns < ask->until_ns ? ask->until_ns - now_ns : 0;
	int ready = poll(fds, 2, (int)(wait_ns / 1000000));

	if (ready < 0 && errno == EINTR)
		return NULL; /* the next call waits again */
	if (fds[0].revents)
		return NULL;
	if (ready > 0)
		return error_create("xtop has ended");
	return error_create("xenstore does not answer (waited %llu s): is xenstored running?",
			    ASK_WAIT_NS / 1000000000);
}

static struct xtop_error *ask_read(const struct ask *ask, void *bytes, size_t size_bytes)
{
	char *to = bytes;

	while (size_bytes) {
		struct xtop_error *error = ask_wait(ask);
		ssize_t got;

		if (error)
			return error;
		got = read(ask->pipe, to, size_bytes);
		if (got == 0)
			return error_create("the process that asks Xen was killed");
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return error_create_errno(errno, "cannot read from a pipe");
		to += got > 0 ? got : 0;
		size_bytes -= got > 0 ? (size_t)got : 0;
	}
	return NULL;
}

static struct xtop_error *ask_read_list(const struct ask *ask, struct guest_listing **listp,
					size_t *np)
{
	_cleanup_free_ struct guest_listing *list = NULL;
	struct ask_answer answer;
	struct xtop_error *error = ask_read(ask, &answer, sizeof(answer));

	if (error)
		return error;
	if (answer.failed)
		return error_create("%s", answer.message);
	if (answer.n > ASK_MAX_LIST)
		return error_create("more domains than Xen has numbers");
	list = calloc(answer.n + 1, sizeof(*list));
	if (!list)
		return error_create("out of memory");
	error = ask_read(ask, list, answer.n * sizeof(*list));
	if (error)
		return error;
	*listp = no_cleanup_ptr(list);
	*np = answer.n;
	return NULL;
}

static struct xtop_error *ask_all(int socket, const char *domain, uint64_t *cpu_ns,
				  struct guest_listing **listp, size_t *np)
{
	struct ask ask = { .domain = domain, .socket = socket };
	struct xtop_error *error = ask_start(&ask);

	if (error)
		return error;
	fcntl(ask.pipe, F_SETFL, O_NONBLOCK);
	error = ask_read_list(&ask, listp, np);
	ask_end(&ask);
	if (cpu_ns)
		*cpu_ns += ask.cpu_ns;
	return error;
}

struct xtop_error *ask_list(int socket, uint64_t *cpu_ns, struct guest_listing **listp, size_t *np)
{
	return ask_all(socket, NULL, cpu_ns, listp, np);
}

struct xtop_error *ask_find(int socket, const char *domain, uint64_t *cpu_ns,
			    struct guest_info *info)
{
	_cleanup_free_ struct guest_listing *list = NULL;
	struct xtop_error *error;
	size_t n = 0;

	error = ask_all(socket, domain, cpu_ns, &list, &n);
	if (!error && n == 1)
		*info = list[0].info;
	return error;
}
