/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user for whom root runs xtop, as SUDO_UID says, and where that user may make files. Functions of
 * the C library are replaced below, which fail, or during which something happens.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/caller.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"
#include "xtop/supervise/sandbox.h"

/* --- functions of the C library --------------------------------------------------------------- */

static const char *passwd = "/etc/passwd"; /* the file that stands for it; NULL: there is none */
static bool fork_fails, eaccess_naps;
static pid_t victim; /* ends while this process becomes another user */

#ifdef SANITIZED
static const bool is_sanitized = true; /* sanitizers replace functions themselves */
#else
static const bool is_sanitized = false;

FILE *fopen(const char *path, const char *mode)
{
	int fd;

	(void)mode;
	if (strcmp(path, "/etc/passwd") == 0)
		path = passwd;
	fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	return fd < 0 ? NULL : fdopen(fd, "r");
}

pid_t fork(void)
{
	if (fork_fails) {
		errno = EAGAIN;
		return -1;
	}
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

int eaccess(const char *path, int mode)
{
	if (eaccess_naps)
		usleep(100000);
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS); /* old Linux knows it, too */
}

int setgroups(size_t n, const gid_t *groups)
{
	for (int i = 0; victim && i < 2000 && getppid() == victim; i++) {
		syscall(SYS_kill, victim, SIGKILL);
		usleep(1000);
	}
	return (int)syscall(SYS_setgroups, n, groups);
}
#endif

/* --- who the caller is ------------------------------------------------------------------------ */

static void test_ids(void)
{
	static const char *const ids[] = {
		"0", "12x", "-5", "", "4294967295", " 7", "99999999999999999999999"
	};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		setenv("SUDO_UID", ids[i], 1);
		setenv("SUDO_GID", ids[i], 1);
		check(caller_find().uid == 65534 && caller_find().gid == 65534,
		      "SUDO_UID=%s: the caller is nobody", ids[i]);
	}
	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "100", 1);
	check(caller_find().uid == 1234 && caller_find().gid == 100,
	      "SUDO_UID=1234: the caller is the user who called sudo");
}

static void test_nobody(void)
{
	static const struct {
		const char *text, *what;
		uid_t uid, gid;
	} files[] = {
		{ "root:x:0:0::/:/bin/sh\nnobody:x:99:98::/:/bin/sh\nz:x:7:7::/:/bin/sh\n",
		  "nobody's ids are those of the file", 99, 98 },
		{ "root:x:0:0::/:/bin/sh\n", "without nobody in the file", 65534, 65534 },
		{ NULL, "without a file", 65534, 65534 },
	};
	char path[] = "/tmp/xtop-passwd-XXXXXX";
	int fd = mkstemp(path);
	struct caller caller;

	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	for (size_t i = 0; i < 3; i++) {
		const char *text = files[i].text ? files[i].text : "";

		if (fd < 0 || ftruncate(fd, 0) ||
		    pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
			abort();
		passwd = files[i].text ? path : NULL;
		caller = caller_find();
		check(caller.uid == files[i].uid && caller.gid == files[i].gid, "%s: %u and %u",
		      files[i].what, caller.uid, caller.gid);
	}
	passwd = "/etc/passwd";
	unlink(path);
	close(fd);
}

/* --- becoming another user -------------------------------------------------------------------- */

/* Whether BODY returns true in a child. */
static bool holds_in_child(bool (*body)(void))
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(!body());
	waitpid(pid, &status, 0);
	return status == 0;
}

static bool fails(struct xtop_error *error)
{
	error_destroy(error);
	return error;
}

static bool all_ids_are(uid_t id)
{
	uid_t uids[3];
	gid_t gids[3];

	return getresuid(&uids[0], &uids[1], &uids[2]) == 0 && uids[0] == id && uids[1] == id &&
	       uids[2] == id && getresgid(&gids[0], &gids[1], &gids[2]) == 0 && gids[0] == id &&
	       gids[1] == id && gids[2] == id && getgroups(0, NULL) == 0;
}

static const struct caller somebody = { .uid = 4321, .gid = 4321 };

static bool becomes_from_only_effective_root(void)
{
	return setresuid(99, 0, 99) == 0 && !fails(caller_become(somebody)) && all_ids_are(4321);
}

/* The effective user is root, the real one is not. */
static bool becomes_from_effective_root(void)
{
	return setresuid(99, 0, 0) == 0 && !fails(caller_become(somebody)) && all_ids_are(4321);
}

/* The real user is root, the effective one is not, and may not change groups. */
static bool stays_real_root(void)
{
	return setresuid(0, 99, 0) == 0 && fails(caller_become(somebody));
}

/* Capabilities stay when the user changes: root could come back. */
static bool notices_kept_root(void)
{
	return prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) == 0 &&
	       fails(caller_become(somebody));
}

static bool may_write_after_failure(void)
{
	return prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) == 0 && !caller_may_write("/tmp");
}

static bool write_map(pid_t pid, const char *name)
{
	static const char map[] = "0 0 1\n65534 65534 1\n";
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, map, sizeof(map) - 1) == sizeof(map) - 1 && close(fd) == 0;
}

/* A number that the namespace does not have: the process becomes nobody. */
static void test_namespace(void)
{
	int ready[2], go[2], status = 0;
	char byte = 0;
	pid_t pid;

	if (pipe(ready) || pipe(go))
		abort();
	pid = fork();
	if (pid == 0) {
		close(ready[0]);
		close(go[1]);
		if (unshare(CLONE_NEWUSER) || write(ready[1], &byte, 1) != 1 ||
		    read(go[0], &byte, 1) != 1)
			_exit(2);
		_exit(fails(caller_become_own_user()) || !all_ids_are(65534));
	}
	close(ready[1]);
	close(go[0]);
	if (read(ready[0], &byte, 1) != 1 || !write_map(pid, "uid_map") ||
	    !write_map(pid, "gid_map"))
		printf("# no namespace of users here\n");
	else if (write(go[1], &byte, 1) == 1 && waitpid(pid, &status, 0) == pid)
		check(status == 0, "where its own number is not there, a process becomes nobody");
	close(ready[0]);
	close(go[1]);
}

/* BECOME in a process whose parent ends meanwhile. Returns whether it failed. */
static bool fails_when_parent_ends(int signal_number, struct xtop_error *(*become)(void))
{
	int pipes[2];
	char failed = -1;
	pid_t pid;

	if (pipe(pipes))
		abort();
	pid = fork();
	if (pid == 0) {
		if (fork() == 0) {
			signal(SIGUSR1, SIG_IGN);
			victim = getppid();
			prctl(PR_SET_PDEATHSIG, signal_number);
			failed = fails(become());
			_exit(write(pipes[1], &failed, 1) != 1);
		}
		for (;;)
			pause();
	}
	close(pipes[1]);
	if (read(pipes[0], &failed, 1) != 1)
		failed = 2;
	close(pipes[0]);
	waitpid(pid, NULL, 0);
	return failed == 1;
}

static struct xtop_error *become_somebody(void)
{
	return caller_become(somebody);
}

static void test_become(void)
{
	check(holds_in_child(becomes_from_only_effective_root),
	      "a process that is root by its effective user alone gives it up");
	check(holds_in_child(becomes_from_effective_root), "the effective root gives up root");
	check(holds_in_child(stays_real_root), "the real root that cannot give up root says so");
	check(holds_in_child(notices_kept_root), "a process that could be root again says so");
	check(holds_in_child(may_write_after_failure),
	      "a caller that nobody can become may write nowhere");
	check(fails_when_parent_ends(SIGUSR1, become_somebody),
	      "a process that is to end with its parent notices that this has ended");
	check(!fails_when_parent_ends(0, become_somebody),
	      "a process that is not to end with its parent becomes somebody");
	check(fails_when_parent_ends(SIGUSR1, caller_become_own_user),
	      "a user of its own: the parent has ended");
}

/* --- where the caller may write --------------------------------------------------------------- */

static void wake(int number)
{
	(void)number;
}

static void test_may_write(void)
{
	const bool was_root = geteuid() == 0;
	const struct sigaction action = { .sa_handler = wake };
	const struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
	int status;
	pid_t other;

	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "100", 1);
	check(caller_may_write("/tmp"), "the caller may write in /tmp");
	check(!caller_may_write("/proc"), "the caller may not write in /proc");
	if (was_root)
		check(!caller_may_write("/root"), "the caller may not write in root's folder");
	check(geteuid() == 0 || !was_root, "this process is still root");
	sigaction(SIGALRM, &action, NULL);
	eaccess_naps = true;
	setitimer(ITIMER_REAL, &soon, NULL);
	check(caller_may_write("/tmp"), "the caller may write in /tmp, and a signal comes");
	eaccess_naps = false;
	signal(SIGCHLD, SIG_IGN);
	check(!caller_may_write("/tmp"), "without an answer the caller may not write");
	signal(SIGCHLD, SIG_DFL);
	other = fork();
	if (other == 0)
		_exit(0);
	fork_fails = true;
	check(!caller_may_write("/tmp"), "without a child the caller may not write");
	fork_fails = false;
	check(waitpid(other, &status, 0) == other, "no other child was waited for");
}

int main(void)
{
	test_ids();
	if (is_sanitized)
		return tap_done();
	test_nobody();
	if (geteuid() == 0 && !is_emulated()) {
		test_become();
		test_namespace();
	}
	test_may_write();
	return tap_done();
}
