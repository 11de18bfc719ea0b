/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process in the sandbox as the kernel shows it: user, capabilities, filter of system calls. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/supervise/sandbox_fixture.h"
#include "tests/support/tap.h"
#include "xtop/supervise/sandbox.h"

/* LINE is in /proc/PID/status, while the child waits. */
static bool status_says(pid_t pid, const char *line)
{
	char path[64], text[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(text, sizeof(text), file))
		found |= strncmp(text, line, strlen(line)) == 0;
	if (file)
		fclose(file);
	return found;
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

/* The kernel's view of the process. */
static void test_status(const char *sudo_uid)
{
	char uid_line[64];

	int ready[2], go[2];
	char byte;
	pid_t child;

	if (pipe2(ready, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		abort();
	child = fork();
	if (child == 0) {
		setenv("SUDO_UID", sudo_uid, 1);
		setenv("SUDO_GID", sudo_uid, 1);
		if (sandbox_enter(NULL, 0) || write(ready[1], "x", 1) != 1)
			_exit(1);
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	snprintf(uid_line, sizeof(uid_line), "Uid:\t%u\t%u\t%u\t%u\n", USER_OF(child),
		 USER_OF(child), USER_OF(child), USER_OF(child));
	close(ready[1]);
	close(go[0]);
	check(read(ready[0], &byte, 1) == 1, "SUDO_UID=%s: the sandbox is entered", sudo_uid);
	check(status_says(child, "CapEff:\t0000000000000000"), "SUDO_UID=%s: no capability",
	      sudo_uid);
	check(is_roots(child), "SUDO_UID=%s: the process is not dumpable", sudo_uid);
	check(status_says(child, "CapPrm:\t0000000000000000"),
	      "SUDO_UID=%s: no permitted capability", sudo_uid);
	check(status_says(child, "NoNewPrivs:\t1"), "SUDO_UID=%s: no new privileges", sudo_uid);
	check(status_says(child, "Seccomp:\t2"), "SUDO_UID=%s: system calls are filtered",
	      sudo_uid);
	if (fixture.was_root) {
		check(status_says(child, "CapBnd:\t0000000000000000"),
		      "SUDO_UID=%s: the bounding set is empty", sudo_uid);
		check(status_says(child, uid_line), "SUDO_UID=%s: all four user ids are %u",
		      sudo_uid, USER_OF(child));
		check(status_says(child, "Groups:\t \n") || status_says(child, "Groups:\t\n"),
		      "SUDO_UID=%s: no other groups", sudo_uid);
	}
	close(go[1]);
	close(ready[0]);
	waitpid(child, NULL, 0);
}

int main(void)
{
	if (!fixture_begin())
		return tap_done();
	test_status("1234");
	test_status("0");
	test_status("12x");
	return tap_done();
}
