/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of the sandbox share: a child enters the sandbox as xtop does and makes one
 * attempt. The child exits with the errno.
 */
#ifndef XTOP_TESTS_SANDBOX_FIXTURE_H
#define XTOP_TESTS_SANDBOX_FIXTURE_H

#include <stdbool.h>

#define DONE 0 /* the result of an attempt that works */

extern struct sandbox_fixture {
	bool was_root;
	int root_folder;       /* a folder as --root has it; -1: none */
	bool without_landlock; /* the process is as on a kernel before 5.13 */
} fixture;

/*
 * Prepares the fixture. To be called first. Returns whether the sandbox can be tested:
 * sanitizers do not work in it, and an emulator does not have it.
 */
bool fixture_begin(void);
/* DONE, or errno if VALUE, the result of a system call, is below 0. */
int result(long value);
/* The result of ATTEMPT in the sandbox: DONE or an errno. */
int inside(int (*attempt)(void));
/* Whether the result of an attempt says that it is not allowed. */
bool is_refused(int errno_value);
/* Calls TEST with Landlock, if the kernel has it, and without. */
void with_and_without_landlock(void (*test)(void));

#endif
