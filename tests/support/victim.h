/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of the user who calls sudo, or who plays a recording: a shell, an agent with keys.
 * xtop's unprivileged processes are not to read or to write its memory. One thread.
 */
#ifndef TESTS_VICTIM_H
#define TESTS_VICTIM_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/children.h"

#define VICTIM_NOT_READ 200 /* what was read is not what is there */

static pid_t victim;
static int victim_secret = 12345;

/* With UID other than 0 the process becomes that user's. */
static inline void victim_start(uid_t uid)
{
	victim = fork();
	if (victim)
		return;
	if (uid && (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* exec() does so */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;)
		pause();
}

static inline void victim_stop(void)
{
	kill_process(victim, SIGKILL);
	waitpid(victim, NULL, 0);
}

/* FLAGS: of open(). 0: the memory was read or, if it was opened for writing, written. Else an errno. */
static inline int victim_touch(int flags)
{
	char path[64];
	int fd, seen = 0;

	snprintf(path, sizeof(path), "/proc/%d/mem", victim);
	fd = open(path, flags);
	if (fd < 0)
		return errno;
	if (flags != O_RDONLY)
		return pwrite(fd, &seen, sizeof(seen), (off_t)(uintptr_t)&victim_secret) < 0 ? errno
											      : 0;
	if (pread(fd, &seen, sizeof(seen), (off_t)(uintptr_t)&victim_secret) < 0)
		return errno;
	return seen == victim_secret ? 0 : VICTIM_NOT_READ;
}

static inline int victim_read(void)
{
	return victim_touch(O_RDONLY);
}

static inline int victim_write(void)
{
	return victim_touch(O_RDWR);
}

#endif
