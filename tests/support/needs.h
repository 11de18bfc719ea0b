/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks for system calls that a test needs. Kernels older than 5.3 and valgrind 3.19 have no
 * pidfd_open(). A skipped test says so in TAP.
 */
#ifndef TESTS_NEEDS_H
#define TESTS_NEEDS_H

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

/* Tries the call with arguments that every call refuses. */
static inline bool needs_call(long number)
{
	return syscall(number, -1, NULL, NULL, 0) >= 0 || errno != ENOSYS;
}

/* Skips the whole program. */
static inline void needs_call_or_skip(long number, const char *name)
{
	if (needs_call(number))
		return;
	printf("1..0 # SKIP no %s() here\n", name);
	exit(0);
}

#endif
