/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child in the sandbox; see sandbox_fixture.h. */
#include "config.h"

#include "tests/supervise/sandbox_fixture.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/landlock.h"
#include "tests/support/emulated.h"
#include "tests/support/old_landlock.h"
#include "tests/support/tap.h"
#include "xtop/supervise/sandbox.h"

#define NOT_ENTERED 255

struct sandbox_fixture fixture = { .root_folder = -1 };

bool fixture_begin(void)
{
	const gid_t group = 1234;

#ifdef SANITIZED
	printf("# SKIP sanitizers do not work in the sandbox\n");
	return false;
#endif
	fixture.without_landlock = !landlock_is_there();
	fixture.was_root = geteuid() == 0;
	if (fixture.was_root && setgroups(1, &group))
		abort();
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	return !emulator_lacks("walls");
}

int inside(int (*attempt)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (fixture.without_landlock)
			hide_landlock();
		_exit(sandbox_enter(&fixture.root_folder, 1) ? NOT_ENTERED : attempt());
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int result(long value)
{
	return value < 0 ? errno : DONE;
}

bool is_refused(int errno_value)
{
	return errno_value == EPERM || errno_value == EACCES;
}

void with_and_without_landlock(void (*test)(void))
{
	const bool none = fixture.without_landlock;

	for (int i = none; i < 2; i++, fixture.without_landlock = true) {
		printf("# %s Landlock\n", fixture.without_landlock ? "without" : "with");
		test();
	}
	fixture.without_landlock = none;
}
