/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of the test's own program, for what it lets a shell do with it. Others see the emulator
 * in /proc/PID/exe if there is one (tests/cross).
 */
#ifndef TESTS_OWN_PROGRAM_H
#define TESTS_OWN_PROGRAM_H

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static inline const char *own_program(void)
{
	static char path[PATH_MAX];

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		abort();
	return path;
}

#endif
