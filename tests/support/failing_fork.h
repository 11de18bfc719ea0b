/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fork() that fails as soon as a test wants it to. Not for builds with sanitizers. */
#ifndef TESTS_FAILING_FORK_H
#define TESTS_FAILING_FORK_H

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

static unsigned forks_left = 1U << 30; /* how many calls of fork() still succeed */

pid_t fork(void)
{
	static pid_t (*of_library)(void);

	if (!forks_left) {
		errno = EAGAIN;
		return -1;
	}
	forks_left--;
	if (!of_library)
		of_library = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
	return of_library();
}

#endif
