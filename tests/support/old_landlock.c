/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hides Landlock; see old_landlock.h. */
#include "config.h"

#include "tests/support/old_landlock.h"

#include <errno.h>
#include <seccomp.h>
#include <unistd.h>

void hide_landlock(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	for (int number = 444; number <= 446; number++)
		if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0) < 0)
			_exit(255);
	if (seccomp_load(filter) < 0)
		_exit(255);
}
