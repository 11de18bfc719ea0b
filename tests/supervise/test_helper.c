/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The beginning and the end of a helper process: what it has, what it ignores, how its parent ends it,
 * its warden, and its folder. Functions of the C library are replaced below, which fail.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/helper.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"

/* Shared with helpers. */
static struct seen {
	atomic_int pid, warden;
	bool ignores, has_null, has_socket, has_others, blocks, catches, went_on;
} * seen;

static bool fchown_fails, opendir_fails;

#ifdef SANITIZED
static const bool is_sanitized = true; /* sanitizers replace functions themselves */
static unsigned forks_left;
#else
static const bool is_sanitized = false;

#include "tests/support/failing_fork.h"

int fchown(int fd, uid_t uid, gid_t gid)
{
	if (!fchown_fails)
		return (int)syscall(SYS_fchown, fd, uid, gid);
	errno = EPERM;
	return -1;
}

DIR *opendir(const char *name)
{
	int fd = opendir_fails ? -1 : open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopendir(fd);
}
#endif

static void nap_ms(long ms)
{
	const struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&nap, NULL);
}

/* --- what a helper has ------------------------------------------------------------------------ */

static const int ignored[] = { SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP, SIGPIPE };

static bool ignores_all(void)
{
	struct sigaction action;
	bool all = true;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		all &= sigaction(ignored[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN;
	return all;
}

/* A shell may have started this test with some of them ignored, in the background for example. */
static void ignore_none(void)
{
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void look(int socket)
{
	struct stat status;
	struct sigaction child;
	sigset_t blocked;

	seen->ignores = ignores_all();
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	seen->catches = sigaction(SIGCHLD, NULL, &child) || child.sa_handler != SIG_DFL;
	for (int number = 1; number < NSIG; number++)
		seen->blocks |= sigismember(&blocked, number) == 1;
	seen->has_null = true;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		seen->has_null &= fstat(fd, &status) == 0 && status.st_rdev == makedev(1, 3) &&
				  (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
	seen->has_socket = fcntl(socket, F_GETFD) >= 0;
	for (int fd = STDERR_FILENO + 1; fd < 2048; fd++)
		seen->has_others |= fd != socket && fcntl(fd, F_GETFD) >= 0;
}

/* Lives until the socket ends. */
static void run_detached(void *context, int socket)
{
	char byte;

	(void)context;
	helper_detach(socket);
	look(socket);
	seen->warden = getppid();
	seen->pid = getpid();
	while (read(socket, &byte, 1) > 0)
		;
}

static void run_plain(void *context, int socket)
{
	char byte;

	(void)context;
	seen->pid = getpid();
	while (read(socket, &byte, 1) > 0)
		;
}

/* Has work that takes a while when the socket has ended. */
static void run_slow(void *context, int socket)
{
	run_plain(context, socket);
	nap_ms(300);
}

/* Does not end with the socket. */
static void run_hung(void *context, int socket)
{
	(void)context;
	helper_detach(socket);
	seen->warden = getppid();
	seen->pid = getpid();
	for (;;)
		pause();
}

static void run_nothing(void *context, int socket)
{
	(void)context, (void)socket;
}

/* Its warden cannot fork. */
static void run_without_fork(void *context, int socket)
{
	forks_left = 0;
	run_detached(context, socket);
}

static void run_nothing_detached(void *context, int socket)
{
	(void)context;
	helper_detach(socket);
}

static void start(helper_run_fn *run, struct helper *helper)
{
	const bool tells = run != run_nothing && run != run_nothing_detached;
	const pid_t self = getpid();

	memset(seen, 0, sizeof(*seen));
	must(helper_start("a helper", run, NULL, helper));
	if (getpid() != self) {
		seen->went_on = true;
		_exit(3);
	}
	for (unsigned i = 0; i < 5000 && tells && !seen->pid; i++)
		nap_ms(1);
}

static unsigned count_open(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_detached(void)
{
	int high = fcntl(STDERR_FILENO, F_DUPFD, 1100);
	struct helper helper;

	start(run_detached, &helper);
	check(!seen->blocks, "a helper blocks no signal");
	check(!seen->catches, "a helper does not catch its warden's signal");
	check(seen->ignores, "a helper ignores the terminal's signals and broken pipes");
	check(seen->has_null, "a helper's streams are /dev/null, to read and to write");
	check(seen->has_socket && !seen->has_others,
	      "a helper has its socket and no other descriptor");
	helper_end(&helper, 5000);
	check(helper.pid == 0 && kill(seen->pid, 0) < 0, "a helper ends with its socket");
	close(high);
}

/* --- how it ends ------------------------------------------------------------------------------ */

static bool ends_within(struct helper *helper, unsigned ms)
{
	helper_end(helper, ms);
	return helper->pid == 0;
}

static void test_end(void)
{
	struct helper helper, other, none = { 0 };
	int again;

	start(run_plain, &helper);
	start(run_plain, &other); /* has a copy of the first one's socket */
	again = helper.socket;
	check(ends_within(&helper, 5000), "a helper ends although another has its socket");
	check(fcntl(again, F_GETFD) < 0, "its socket is closed");
	check(helper_wait_for_end(&none, 5000), "nobody waits for a helper that is not there");
	again = other.socket;
	check(ends_within(&other, 5000), "the helper that had both sockets ends");
	dup2(STDERR_FILENO, again); /* the number of its socket is another file's now */
	helper_end(&other, 5000);
	check(close(again) == 0, "a helper that has ended is not ended once more");
	helper_end(&none, 5000);
	check(fcntl(STDIN_FILENO, F_GETFD) >= 0, "without a helper no stream is closed");
}

/* How often this process has gone to sleep. */
static unsigned count_naps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (unsigned)usage.ru_nvcsw;
}

static void test_slow_end(void)
{
	struct helper helper;
	uint64_t begin_ns, took_ms;
	unsigned naps;

	start(run_slow, &helper);
	begin_ns = clock_now_ns();
	naps = count_naps();
	check(ends_within(&helper, 5000), "a helper that has 5 s may take 300 ms");
	naps = count_naps() - naps;
	took_ms = (clock_now_ns() - begin_ns) / 1000000;
	check(naps <= took_ms + 5, "its parent looks once a millisecond: %u times in %u ms", naps,
	      (unsigned)took_ms);
}

/* Its parent sees the end, with a warden or without one. */
static void test_own_end(void)
{
	helper_run_fn *const runs[] = { run_nothing, run_nothing_detached };
	static const char *const wardens[] = { "without a warden", "with a warden" };

	for (unsigned i = 0; i < 2; i++) {
		unsigned n_seen = 0, n = 50;
		bool went_on = false;

		for (unsigned j = 0; j < n; j++) {
			struct helper helper;
			struct pollfd ended = { 0 };

			start(runs[i], &helper);
			ended.fd = helper.socket;
			n_seen +=
				poll(&ended, 1, 60000) == 1 && helper_wait_for_end(&helper, 60000);
			went_on |= seen->went_on;
			if (helper.pid)
				kill_process(helper.pid, SIGKILL);
			close(helper.socket);
			if (n_seen <= j)
				break;
		}
		check(n_seen == n, "%s: %u of %u ends of helpers are seen", wardens[i], n_seen, n);
		check(!went_on, "%s: a helper whose work is done does not go on as main",
		      wardens[i]);
	}
}

/* Without a warden, and without a signal: by the end of the socket. */
static void test_parent_ends(void)
{
	pid_t parent = fork();
	struct helper helper;

	if (parent == 0) {
		start(run_plain, &helper);
		_exit(0);
	}
	waitpid(parent, NULL, 0);
	for (unsigned i = 0; i < 5000 && kill(seen->pid, 0) == 0; i++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nap_ms(1);
	}
	check(kill(seen->pid, 0) < 0, "the socket of a helper ends with its parent");
}

/* How often process PID has gone to sleep. */
static unsigned count_switches(pid_t pid)
{
	char path[64], line[128];
	unsigned sum = 0, n;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %u", &n) == 1)
			sum += n;
	if (file)
		fclose(file);
	return sum;
}

/* How often PID wakes up in 300 ms; the nap may be longer, and takes *TOOK_MS. */
static unsigned switches_in_300_ms(pid_t pid, unsigned *took_ms)
{
	unsigned before = count_switches(pid);
	uint64_t begin_ns = clock_now_ns();

	nap_ms(300);
	*took_ms = (unsigned)((clock_now_ns() - begin_ns) / 1000000);
	return count_switches(pid) - before;
}

/* It sleeps while nothing happens, and does not look too often when main has closed the socket. */
static void test_warden_sleeps(void)
{
	struct helper helper;
	unsigned n, took_ms;

	start(run_hung, &helper);
	kill_process(seen->pid, SIGSTOP);
	nap_ms(50);
	kill_process(seen->pid, SIGCONT);
	nap_ms(50);
	n = switches_in_300_ms(seen->warden, &took_ms);
	check(n < 3, "a warden sleeps after its helper was stopped: it woke up %u times", n);
	shutdown(helper.socket, SHUT_RDWR);
	nap_ms(50);
	n = switches_in_300_ms(seen->warden, &took_ms);
	check(n > 0 && n <= took_ms / 10 + 20,
	      "without a socket a warden looks now and then: %u times in %u ms", n, took_ms);
	check(kill(seen->pid, 0) == 0, "main lives, and so does the helper");
	kill_process(seen->pid, SIGKILL);
	check(ends_within(&helper, 5000), "a warden ends with its helper");
}

/* No process can be forked. */
static void test_no_fork(void)
{
	struct helper helper = { .socket = 77 };
	unsigned before = count_open();
	struct xtop_error *error;
	int status = 0;

	forks_left = 0;
	error = helper_start("a helper", run_plain, NULL, &helper);
	forks_left = 100;
	check(error && strstr(error_message(error), "cannot start a helper"),
	      "a helper that cannot be forked: %s", error ? error_message(error) : "no error");
	error_destroy(error);
	check(helper.socket == 77 && count_open() == before, "it leaves nothing");
	must(helper_start("a helper", run_without_fork, NULL, &helper));
	waitpid(helper.pid, &status, 0);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 1,
	      "a helper whose warden cannot fork ends: status %x", (unsigned)status);
	close(helper.socket);
}

/* The warden cannot look any more; its parent's end ends it, and this ends the helper. */
static void test_stopped_warden(void)
{
	pid_t parent = fork();
	struct helper helper;

	if (parent == 0) {
		start(run_detached, &helper);
		kill_process(seen->warden, SIGSTOP);
		_exit(0);
	}
	waitpid(parent, NULL, 0);
	for (unsigned i = 0; i < 5000 && (!kill(seen->pid, 0) || !kill(seen->warden, 0)); i++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			; /* orphans are this process's */
		nap_ms(1);
	}
	check(kill(seen->pid, 0) < 0 && kill(seen->warden, 0) < 0,
	      "a helper whose warden is stopped ends with main");
}

/* It cannot close what others have opened: it does not run. */
static void test_not_detached(void)
{
	struct helper helper;
	int status = 0;

	opendir_fails = true;
	memset(seen, 0, sizeof(*seen));
	must(helper_start("a helper", run_detached, NULL, &helper));
	waitpid(helper.pid, &status, 0);
	opendir_fails = false;
	check(WIFEXITED(status) && WEXITSTATUS(status) == 1 && !seen->pid,
	      "a helper that cannot close descriptors ends: status %x", (unsigned)status);
	close(helper.socket);
}

/* --- the helper's folder ---------------------------------------------------------------------- */

static void test_cache(void)
{
	char folder[] = "/tmp/xtop-helper-XXXXXX", path[80], other[80];
	unsigned uid = geteuid() ? geteuid() : 1234, before;
	struct stat status;
	int fd;

	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "1234", 1);
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/spool.%u", folder, uid);
	snprintf(other, sizeof(other), "%s/other", folder);
	before = count_open();
	fd = helper_open_cache(folder, "spool");
	check(fcntl(fd, F_GETFD) == FD_CLOEXEC, "no program would have a helper's folder");
	check(fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == uid &&
		      (status.st_mode & 07777) == 0700,
	      "a helper's folder is its user's alone");
	close(fd);
	fchown_fails = true;
	check(helper_open_cache(folder, "spool") == -1, "a folder that stays root's is not taken");
	check(count_open() == before, "it is closed");
	fchown_fails = false;
	if (rmdir(path) || mkdir(other, 0700) || symlink(other, path))
		abort();
	check(helper_open_cache(folder, "spool") == -1, "a link is not followed");
	unlink(path);
	close(creat(path, 0600));
	check(helper_open_cache(folder, "spool") == -1, "a file is no folder");
	unlink(path);
	rmdir(other);
	rmdir(folder);
}

int main(void)
{
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		abort();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	ignore_none();
	test_detached();
	test_end();
	test_slow_end();
	test_own_end();
	if (!is_emulated()) {
		test_parent_ends();
		test_warden_sleeps();
		test_stopped_warden();
	}
	if (is_sanitized)
		return tap_done();
	test_no_fork();
	test_not_detached();
	test_cache();
	return tap_done();
}
