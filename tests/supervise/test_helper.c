/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The beginning and the end of a helper process: what it has, what it ignores, how its parent ends it,
 * and its folder. Functions of the C library are replaced below, which fail.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervise/helper.h"
#include "tests/support/emulated.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

/* Shared with helpers. */
static struct seen {
	atomic_int pid, warden;
	bool ignores, has_null, has_socket, has_others;
} * seen;

static bool fchown_fails, opendir_fails;

#ifdef SANITIZED
static const bool is_sanitized = true; /* sanitizers replace functions themselves */
#else
static const bool is_sanitized = false;

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

static bool ignores_all(void)
{
	static const int signals[] = { SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP, SIGPIPE };
	struct sigaction action;
	bool all = true;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		all &= sigaction(signals[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN;
	return all;
}

static void look(int socket)
{
	struct stat status;

	seen->ignores = ignores_all();
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
	while (read(socket, &byte, 1) > 0)
		;
}

static void start(helper_run_fn *run, struct helper *helper)
{
	memset(seen, 0, sizeof(*seen));
	must(helper_start("a helper", run, NULL, helper));
	for (unsigned i = 0; i < 5000 && run == run_detached && !seen->pid; i++)
		nap_ms(1);
}

static void test_detached(void)
{
	int high = fcntl(STDERR_FILENO, F_DUPFD, 1100);
	struct helper helper;

	start(run_detached, &helper);
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
	check(ends_within(&helper, 5000), "a helper ends although another has its socket");
	check(helper_wait_for_end(&none, 5000), "nobody waits for a helper that is not there");
	again = other.socket;
	check(ends_within(&other, 5000), "the helper that had both sockets ends");
	dup2(STDERR_FILENO, again); /* the number of its socket is another file's now */
	helper_end(&other, 5000);
	check(close(again) == 0, "a helper that has ended is not ended once more");
	helper_end(&none, 5000);
	check(fcntl(STDIN_FILENO, F_GETFD) >= 0, "without a helper no stream is closed");
}

/* The warden cannot look any more; its parent's end ends it, and this ends the helper. */
static void test_stopped_warden(void)
{
	pid_t parent = fork();
	struct helper helper;

	if (parent == 0) {
		start(run_detached, &helper);
		kill(seen->warden, SIGSTOP);
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

/* --- its folder ------------------------------------------------------------------------------- */

static void test_cache(void)
{
	char folder[] = "/tmp/xtop-helper-XXXXXX", path[80], other[80];
	unsigned uid = geteuid() ? geteuid() : 1234;
	struct stat status;
	int fd;

	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "1234", 1);
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/spool.%u", folder, uid);
	snprintf(other, sizeof(other), "%s/other", folder);
	fd = helper_open_cache(folder, "spool");
	check(fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == uid &&
		      (status.st_mode & 07777) == 0700,
	      "a helper's folder is its user's alone");
	close(fd);
	fchown_fails = true;
	check(helper_open_cache(folder, "spool") == -1, "a folder that stays root's is not taken");
	fchown_fails = false;
	if (rmdir(path) || mkdir(other, 0700) || symlink(other, path))
		abort();
	check(helper_open_cache(folder, "spool") == -1, "a link is not followed");
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
	test_detached();
	test_end();
	if (!is_emulated())
		test_stopped_warden();
	if (is_sanitized)
		return tap_done();
	test_not_detached();
	test_cache();
	return tap_done();
}
