/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes behind walls as the kernel shows them: user, capabilities, filter of system calls. Main, and
 * its helpers.
 */
#include "config.h"

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/line_sandbox.h"
#include "tests/supervise/sandbox_fixture.h"
#include "tests/support/tap.h"
#include "tests/supervise/enter_walls.h"

/* A line of /proc/PID/NAME begins with LINE, while the child waits. */
static bool proc_says(pid_t pid, const char *name, const char *line)
{
	char path[64], text[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "r");
	while (file && fgets(text, sizeof(text), file))
		found |= strncmp(text, line, strlen(line)) == 0;
	if (file)
		fclose(file);
	return found;
}

static bool status_says(pid_t pid, const char *line)
{
	return proc_says(pid, "status", line);
}

/*
 * Files in /proc/PID belong to root if the process is not dumpable, otherwise to its user: proc(5).
 */
static bool is_roots(pid_t pid)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	return stat(path, &status) == 0 && status.st_uid == 0;
}

/* A user of which there is nothing else, whoever called sudo. */
#define USER_OF(pid) (0x70000000U + (unsigned)(pid))

/* A helper with a folder is the user who called sudo. */
static bool enter_with_folder(void)
{
	return !helper_sandbox_enter(open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), true);
}

/* A limit that this process has already may be lower. */
static uint64_t limited(int what, uint64_t most)
{
	struct rlimit limit;

	return getrlimit(what, &limit) == 0 && limit.rlim_max < most ? limit.rlim_max : most;
}

static int oom_score(pid_t pid)
{
	char path[64];
	int score = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	file = fopen(path, "r");
	if (file && fscanf(file, "%d", &score) != 1)
		score = -1;
	if (file)
		fclose(file);
	return score;
}

/* A helper that connects or serves. */
static void check_helper_limits(pid_t child, const char *who)
{
	char data[64];

	snprintf(data, sizeof(data), "Max data size             %" PRIu64 " ",
		 limited(RLIMIT_DATA, 512UL << 20));
	check(proc_says(child, "limits", data), "%s takes 512 MiB of memory at most", who);
}

/* Main of root is bounded from outside, and is the first that the kernel kills for memory. */
static void check_limits(pid_t child)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	char data[64], threads[64];

	bytes = bytes > (1UL << 30) ? bytes : (uint64_t)1 << 30;
	snprintf(data, sizeof(data), "Max data size             %" PRIu64 " ",
		 limited(RLIMIT_DATA, bytes));
	snprintf(threads, sizeof(threads), "Max processes             %" PRIu64 " ",
		 limited(RLIMIT_NPROC, 1024));
	check(proc_says(child, "limits", data), "main takes no more memory than the machine has");
	check(proc_says(child, "limits", threads), "main has 1,024 threads at most");
	if (access("/proc/self/oom_score_adj", W_OK) == 0)
		check(oom_score(child) >= 500, "main dies before others of its size: %d",
		      oom_score(child));
}

/* The kernel's view of the process that has ENTERed its walls. UID 0: a user of its own. */
static void test_status(const char *who, bool (*enter)(void), const char *sudo_uid, unsigned uid)
{
	char uid_line[64], gid_line[64];

	int ready[2], go[2];
	char byte;
	pid_t child;

	if (pipe2(ready, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		abort();
	child = fork();
	if (child == 0) {
		setenv("SUDO_UID", sudo_uid, 1);
		setenv("SUDO_GID", sudo_uid, 1);
		if (!enter() || write(ready[1], "x", 1) != 1)
			_exit(1);
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	uid = uid ? uid : USER_OF(child);
	snprintf(uid_line, sizeof(uid_line), "Uid:\t%u\t%u\t%u\t%u\n", uid, uid, uid, uid);
	close(ready[1]);
	close(go[0]);
	snprintf(gid_line, sizeof(gid_line), "Gid:\t%u\t%u\t%u\t%u\n", uid, uid, uid, uid);
	check(read(ready[0], &byte, 1) == 1, "%s, SUDO_UID=%s: the sandbox is entered", who,
	      sudo_uid);
	check(status_says(child, "CapEff:\t0000000000000000"), "%s, SUDO_UID=%s: no capability",
	      who, sudo_uid);
	check(is_roots(child), "%s, SUDO_UID=%s: the process is not dumpable", who, sudo_uid);
	check(status_says(child, "CapPrm:\t0000000000000000"),
	      "%s, SUDO_UID=%s: no permitted capability", who, sudo_uid);
	check(status_says(child, "NoNewPrivs:\t1"), "%s, SUDO_UID=%s: no new privileges", who,
	      sudo_uid);
	check(status_says(child, "Seccomp:\t2"), "%s, SUDO_UID=%s: system calls are filtered", who,
	      sudo_uid);
	if (fixture.was_root) {
		check(status_says(child, "CapBnd:\t0000000000000000"),
		      "%s, SUDO_UID=%s: the bounding set is empty", who, sudo_uid);
		check(status_says(child, gid_line), "%s, SUDO_UID=%s: all four group ids are %u",
		      who, sudo_uid, uid);
		check(status_says(child, uid_line), "%s, SUDO_UID=%s: all four user ids are %u",
		      who, sudo_uid, uid);
		check(status_says(child, "Groups:\t \n") || status_says(child, "Groups:\t\n"),
		      "%s, SUDO_UID=%s: no other groups", who, sudo_uid);
		if (enter == enter_main)
			check_limits(child);
		else if (enter != line_sandbox_enter)
			check_helper_limits(child, who);
	}
	close(go[1]);
	close(ready[0]);
	waitpid(child, NULL, 0);
}

/* --- a recording that a user plays ------------------------------------------------------------ */

/* The process is a user's from the beginning, dumpable, and has capabilities and core files. */
static bool become_user(void)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	if (geteuid() == 0 &&
	    (setrlimit(RLIMIT_CORE, &unlimited) || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) ||
	     setgroups(0, NULL) || setresgid(1234, 1234, 1234) || setresuid(1234, 1234, 1234)))
		return false;
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

static void test_user(const char *who, bool (*enter)(void))
{
	int ready[2], go[2];
	char byte;
	pid_t child;

	if (pipe2(ready, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		abort();
	child = fork();
	if (child == 0) {
		if (!become_user() || !enter() || write(ready[1], "x", 1) != 1)
			_exit(1);
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	close(ready[1]);
	close(go[0]);
	check(read(ready[0], &byte, 1) == 1 && is_roots(child),
	      "%s of a user is not dumpable any more", who);
	if (enter == enter_main)
		check(proc_says(child, "status", "CapPrm:\t0000000000000000"),
		      "%s of a user has no capability, whatever it had", who);
	if (enter == enter_main)
		check(limited(RLIMIT_NPROC, 1024) < 1024 ||
			      !proc_says(child, "limits", "Max processes             1024 "),
		      "%s of a user shares that user's limits", who);
	if (enter == line_sandbox_enter)
		check(proc_says(child, "limits", "Max core file size        0 ") &&
			      proc_says(child, "limits", "Max file size             0 ") &&
			      proc_says(child, "limits", "Max data size             209715200 "),
		      "%s has no core file, writes no file, and has 200 MiB at most", who);
	close(go[1]);
	close(ready[0]);
	waitpid(child, NULL, 0);
}

/* A limit that is lower already stays. */
static void test_lower_limit(void)
{
	struct rlimit before, lower;

	if (getrlimit(RLIMIT_NPROC, &before))
		abort();
	lower = before;
	lower.rlim_cur = lower.rlim_max = limited(RLIMIT_NPROC, 900);
	if (setrlimit(RLIMIT_NPROC, &lower))
		abort();
	test_status("main with a lower limit", enter_main, "1234", 0);
	setrlimit(RLIMIT_NPROC, &before);
}

int main(void)
{
	if (!fixture_begin())
		return tap_done();
	test_status("main", enter_main, "1234", 0);
	test_status("main", enter_main, "0", 0);
	test_status("main", enter_main, "12x", 0);
	test_status("a helper that connects", enter_client, "1234", 0);
	test_status("a helper that does not connect", enter_server, "1234", 0);
	test_status("a helper with a folder", enter_with_folder, "1234", 1234);
	test_status("the line server", line_sandbox_enter, "1234", 0);
	test_user("main", enter_main);
	test_user("a helper that connects", enter_client);
	test_user("the line server", line_sandbox_enter);
	if (fixture.was_root)
		test_lower_limit(); /* last: root of a container may not raise a limit again */
	return tap_done();
}
