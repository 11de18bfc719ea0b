/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tests/cross runs unit tests of arm64 under qemu-user, and sets EMULATED to its name. QEMU 7.2's system calls
 * are not all that Linux's are (linux-user/syscall.c), and the process is the emulator's:
 *
 *   seccomp()                 is not there, nor Landlock's calls: processes have no walls
 *   PR_SET_CHILD_SUBREAPER    is refused: orphans are init's, which reaps them when it likes
 *   PR_SET_PDEATHSIG          may come while getppid() still tells the dead parent: a process has a
 *                             thread of the emulator, to which Linux gives orphans first
 *   MSG_CTRUNC                recvmsg() does not tell that descriptors were cut off
 *   /proc/self/statm          has the emulator's own memory, too
 *   RLIMIT_DATA               counts it, too: the emulator ends by a signal
 *   execve()                  starts programs of this machine only, and those by the emulator's name
 */
#ifndef TESTS_EMULATED_H
#define TESTS_EMULATED_H

#include <stdlib.h>

#include "tests/support/tap.h"

static inline bool is_emulated(void)
{
	return getenv("EMULATED") != NULL;
}

/* What a shell has to write before a program of the build: nothing, or "qemu-aarch64 ". */
static inline const char *emulator(void)
{
	return is_emulated() ? getenv("EMULATED") : "";
}

/* Whether an emulator runs the test and lacks what a test of WHAT needs; then skips a point. */
static inline bool emulator_lacks(const char *what)
{
	if (!is_emulated())
		return false;
	printf("ok %u - # SKIP the emulator has no %s\n", ++tap_points, what);
	return true;
}

#endif
