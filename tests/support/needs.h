/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that a test cannot do without, and that may be missing: in kernels older than 5.6,
 * and under valgrind 3.19, which has neither pidfd_open() nor openat2(). What is left out is told
 * in TAP.
 */
#ifndef TESTS_NEEDS_H
#define TESTS_NEEDS_H

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

/* With arguments that no call takes. */
static inline bool needs_call(long number)
{
	return syscall(number, -1, NULL, NULL, 0) >= 0 || errno != ENOSYS;
}

/* The whole program. */
static inline void needs_call_or_skip(long number, const char *name)
{
	if (needs_call(number))
		return;
	printf("1..0 # SKIP no %s() here\n", name);
	exit(0);
}

#endif
