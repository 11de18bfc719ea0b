/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opener, without a broker: how many children and files there are, what is removed, children
 * whose answers nobody reads, and a child that waits for a file server when all others have ended.
 * Its own checks of paths are in tests/base/test_output_named.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/opener.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"
#include "xtop/export/export.h"

static struct {
	char folder[32];
	struct opener opener;
	int sockets[2]; /* main's, the broker's */
} fixture = { .folder = "/tmp/xtop-opener-XXXXXX" };

/*
 * Shared: a child for which a file server does not answer, and the child's parent; whether a child has
 * gone on as if it was the broker.
 */
static struct {
	_Atomic pid_t pid, warden;
	atomic_bool went_on, late; /* late: late.folded is not opened yet */
} * hung;

/* What the replaced functions do. */
static struct {
	bool server_answers, opendir_fails, setresgid_fails;
} libc = { .server_answers = true };

#ifdef SANITIZED
static const bool is_sanitized = true; /* sanitizers replace functions themselves */
static unsigned forks_left;
#else
static const bool is_sanitized = false;

#include "tests/support/failing_fork.h"

DIR *opendir(const char *name)
{
	int fd = libc.opendir_fails ? -1 : open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopendir(fd);
}

int setresgid(gid_t real, gid_t effective, gid_t saved)
{
	if (!libc.setresgid_fails)
		return (int)syscall(SYS_setresgid, real, effective, saved);
	errno = EPERM;
	return -1;
}

int openat(int at, const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	while (hung->late && strcmp(name, "late.folded") == 0)
		usleep(1000);
	if (libc.server_answers)
		return (int)syscall(SYS_openat, at, name, flags, mode);
	hung->warden = getppid();
	hung->pid = getpid();
	for (;;)
		pause();
}
#endif

static struct broker_request request_for(uint32_t act, const char *name)
{
	struct broker_request request = { .question = BROKER_OPEN, .number = act };

	snprintf(request.text, sizeof(request.text), "%s/%s", fixture.folder, name);
	return request;
}

/* True: a child was started. */
static bool starts(uint32_t act, const char *name)
{
	const struct broker_request request = request_for(act, name);
	const pid_t self = getpid();
	struct xtop_error *error = opener_start(&fixture.opener, &request, fixture.sockets[1]);

	if (getpid() != self) {
		hung->went_on = true;
		_exit(1);
	}
	error_destroy(error);
	return !error;
}

static void nap_ms(long ms)
{
	const struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&nap, NULL);
}

/* Waits until no child is left. */
static bool all_end(void)
{
	for (unsigned i = 0; i < 5000; i++) {
		bool any = false;

		for (unsigned j = 0; j < OPENER_MAX_CHILDREN; j++)
			any |= fixture.opener.children[j] &&
			       waitpid(fixture.opener.children[j], NULL, WNOHANG) == 0;
		if (!any)
			break;
		nap_ms(1);
		if (i == 4999)
			return false;
	}
	memset(fixture.opener.children, 0, sizeof(fixture.opener.children));
	return true;
}

/* Waits for an answer. True: it gives a descriptor, which is closed. */
static bool answers_file(bool *failed)
{
	struct broker_reply reply = { .failed = true };
	int fds[BROKER_MAX_FDS];
	size_t n = 0;

	if (!wire_receive(fixture.sockets[0], &reply, sizeof(reply), fds, &n))
		n = 0;
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	*failed = reply.failed;
	return n;
}

static bool opens(uint32_t act, const char *name)
{
	bool failed;

	return starts(act, name) && answers_file(&failed) && !failed && all_end();
}

static bool removes(const char *name)
{
	bool failed;

	return starts(OPENER_REMOVE, name) && !answers_file(&failed) && !failed && all_end();
}

static bool there(const char *name)
{
	const struct broker_request request = request_for(0, name);

	return access(request.text, F_OK) == 0;
}

static void test_remove(void)
{
	check(!starts(OPENER_REMOVE, "a.folded"), "nothing is removed before a file was made");
	check(opens(OPENER_CREATE, "a.folded") && there("a.folded"), "a file is made");
	check(opens(OPENER_CREATE, "b.folded") && there("b.folded"), "another file is made");
	check(!starts(OPENER_REMOVE, "a.folded") && there("a.folded"),
	      "a file that is not the newest is not removed");
	check(opens(OPENER_REPLACE, "a.folded"), "a file is replaced");
	check(!starts(OPENER_REMOVE, "a.folded"), "a file that was replaced is not removed");
	check(removes("b.folded") && !there("b.folded"), "the newest file is removed");
	check(!starts(OPENER_REMOVE, "b.folded"), "a file that was removed is not removed again");
}

/* Asks for a file that cannot be made. True: main hears of it. */
static bool fails(const char *name)
{
	bool failed;

	return starts(OPENER_CREATE, name) && !answers_file(&failed) && failed && all_end();
}

static void make_users_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 ||
	    (geteuid() == 0 && fchown(fd, fixture.opener.caller.uid, fixture.opener.caller.gid)))
		abort();
	close(fd);
}

/* An empty file of the user's, which main has named in vain. */
static void test_remove_others(void)
{
	const struct broker_request file = request_for(0, "user.folded");

	make_users_file(file.text);
	check(fails("user.folded"), "a file that is there is not made");
	check(!starts(OPENER_REMOVE, "user.folded") && there("user.folded"),
	      "a file that was there before is not removed");
	check(opens(OPENER_CREATE, "d.folded") && fails("user.folded"),
	      "a file is made, and the user's is not");
	check(!starts(OPENER_REMOVE, "user.folded") && !starts(OPENER_REMOVE, "d.folded"),
	      "and now neither is removed");
	check(opens(OPENER_REPLACE, "user.folded") && !starts(OPENER_REMOVE, "user.folded"),
	      "nor after main has opened it");
	unlink(file.text);
	unlink(request_for(0, "d.folded").text);
}

/* The user's empty file takes the place of the one that was made. */
static void test_remove_exchanged(void)
{
	const struct broker_request made = request_for(0, "made.folded");
	const struct broker_request moved = request_for(0, "moved.folded");

	check(opens(OPENER_CREATE, "made.folded") && rename(made.text, moved.text) == 0,
	      "a file is made, and moved away");
	make_users_file(made.text);
	check(removes("made.folded") && there("made.folded") && there("moved.folded"),
	      "the user's file in its place is not removed");
	unlink(made.text);
	unlink(moved.text);
}

/* A file that was asked for before is made after the user's file was named in vain. */
static void test_remove_late(void)
{
	const struct broker_request file = request_for(0, "user.folded");
	bool failed;

	make_users_file(file.text);
	hung->late = true;
	check(starts(OPENER_CREATE, "late.folded"), "a file is asked for, whose server is slow");
	check(starts(OPENER_CREATE, "user.folded") && !answers_file(&failed) && failed,
	      "meanwhile another is not made");
	hung->late = false;
	check(answers_file(&failed) && !failed && all_end(), "the first is made late");
	check(!starts(OPENER_REMOVE, "user.folded") && there("user.folded"),
	      "the one that was there is not removed");
	unlink(file.text);
	unlink(request_for(0, "late.folded").text);
}

/* Answers are larger than the socket's buffer: children wait until somebody reads. */
static void test_children(void)
{
	const struct timeval wait = { .tv_usec = 20000 };
	unsigned n = 0, refused = 0;
	struct pollfd others = { .fd = -1 };
	int bytes = 1, ends[2];
	bool failed;

	if (pipe2(ends, O_CLOEXEC))
		abort();
	others.fd = ends[0];
	setsockopt(fixture.sockets[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	setsockopt(fixture.sockets[1], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	for (unsigned i = 0; i < 3 * OPENER_MAX_CHILDREN; i++) {
		bool started = starts(OPENER_REPLACE, "a.folded");

		n += started;
		refused += !started;
		nap_ms(20);
	}
	check(n >= OPENER_MAX_CHILDREN && refused > 0,
	      "while nobody reads, %u children are started and %u are not", n, refused);
	close(ends[1]);
	check(poll(&others, 1, 5000) == 1, "children that wait have nothing else of the broker's");
	close(ends[0]);
	nap_ms(200);
	for (unsigned i = 0; i < n; i++)
		check(answers_file(&failed) && !failed, "answer %u of %u comes late", i, n);
	check(all_end(), "children that have answered end");
	check(opens(OPENER_REPLACE, "a.folded"), "another child starts after children have ended");
}

static void test_limit(void)
{
	check(opens(OPENER_CREATE, "e.folded"), "one more file is made");
	while (fixture.opener.n_files < OPENER_MAX_FILES && opens(OPENER_REPLACE, "a.folded"))
		;
	check(fixture.opener.n_files == OPENER_MAX_FILES, "%u files are opened",
	      fixture.opener.n_files);
	check(!starts(OPENER_REPLACE, "a.folded"), "no file beyond the limit is opened");
	check(removes("e.folded") && !there("e.folded"),
	      "the newest file is removed although the limit is reached");
}

/* All children are at work; the broker has another child, which has ended. */
static void test_full(void)
{
	pid_t pids[OPENER_MAX_CHILDREN], other;

	fixture.opener.n_files = 0;
	for (unsigned i = 0; i <= OPENER_MAX_CHILDREN; i++) {
		other = fork();
		while (other == 0 && i < OPENER_MAX_CHILDREN)
			pause();
		if (other == 0)
			_exit(0);
		if (i < OPENER_MAX_CHILDREN)
			pids[i] = fixture.opener.children[i] = other;
	}
	nap_ms(50);
	check(!starts(OPENER_REPLACE, "h.folded"), "there is no child too many");
	for (unsigned i = 0; i < OPENER_MAX_CHILDREN; i++)
		kill_process(pids[i], SIGKILL);
	check(all_end() && opens(OPENER_CREATE, "h.folded"), "then there is one again");
	check(waitpid(other, NULL, 0) == other, "no child of others is reaped");
	unlink(request_for(0, "h.folded").text);
}

/* Nothing tells whether a file was made. */
static void test_no_memory(void)
{
	struct output_id *memory = fixture.opener.made;

	fixture.opener.made = MAP_FAILED;
	check(!starts(OPENER_CREATE, "g.folded") && !starts(OPENER_REMOVE, "g.folded"),
	      "without shared memory there is no child");
	fixture.opener.made = memory;
}

/* A child that cannot give up the broker's rights, or have a warden, opens nothing. */
static void test_no_rights(void)
{
	fixture.opener.n_files = 0;
	libc.opendir_fails = true;
	check(fails("f.folded") && !there("f.folded"),
	      "without a look at descriptors no file is made");
	libc.opendir_fails = false;
	libc.setresgid_fails = true;
	check(geteuid() || (fails("f.folded") && !there("f.folded")), "root makes no file");
	libc.setresgid_fails = false;
	forks_left = 1;
	check(fails("f.folded") && !there("f.folded"), "without a warden no file is made");
	check(!starts(OPENER_CREATE, "f.folded"), "without a fork there is no child");
	forks_left = 1000;
	check(opens(OPENER_CREATE, "f.folded"), "then a file is made");
	unlink(request_for(0, "f.folded").text);
}

/* Main has gone: a child that cannot answer ends. */
static void test_gone(void)
{
	fixture.opener.n_files = 0;
	close(fixture.sockets[0]);
	check(starts(OPENER_CREATE, "c.folded") && all_end(), "without main a child ends");
}

/* Waits until process PID, which this one inherits, has ended. */
static bool ends(pid_t pid)
{
	for (unsigned i = 0; i < 5000; i++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (kill(pid, 0) < 0)
			return true;
		nap_ms(1);
	}
	return false;
}

/*
 * A child waits for a file server. The broker is killed, and main ends: its end of the socket is
 * closed.
 */
static void test_hung(bool broker_first)
{
	int ours[2];
	pid_t broker;

	hung->pid = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ours))
		abort();
	broker = fork();
	if (broker == 0) {
		close(ours[0]);
		fixture.sockets[1] = ours[1];
		libc.server_answers = false;
		starts(OPENER_CREATE, "hung.folded");
		for (;;)
			pause();
	}
	close(ours[1]);
	for (unsigned i = 0; i < 5000 && !hung->pid; i++)
		nap_ms(1);
	nap_ms(50);
	check(hung->pid && kill(hung->pid, 0) == 0, "a child waits for a file server");
	if (!broker_first)
		close(ours[0]);
	nap_ms(50);
	kill_process(broker, SIGKILL);
	if (broker_first)
		close(ours[0]);
	check(ends(hung->pid) && ends(hung->warden),
	      "it ends when main and the broker have ended, %s first",
	      broker_first ? "the broker" : "main");
	if (hung->pid)
		kill_process(hung->pid, SIGKILL);
}

int main(void)
{
	unsetenv("SUDO_UID");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	hung = mmap(NULL, sizeof(*hung), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (hung == MAP_FAILED || !mkdtemp(fixture.folder) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fixture.sockets))
		abort();
	opener_init(&fixture.opener, export_endings);
	if (geteuid() == 0 &&
	    chown(fixture.folder, fixture.opener.caller.uid, fixture.opener.caller.gid))
		abort();
	test_remove();
	test_remove_others();
	test_remove_exchanged();
	if (!is_sanitized)
		test_remove_late();
	test_children();
	test_limit();
	test_full();
	test_no_memory();
	if (!is_sanitized)
		test_no_rights();
	test_gone();
	check(!hung->went_on, "no child goes on as the broker");
	if (!is_sanitized && !emulator_lacks("subreapers")) {
		test_hung(false);
		test_hung(true);
	}
	unlink(request_for(0, "c.folded").text);
	rmdir(fixture.folder);
	return tap_done();
}
