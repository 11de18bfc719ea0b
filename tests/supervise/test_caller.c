/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user for whom root runs xtop, as SUDO_UID says, and where that user may make files. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "supervise/caller.h"
#include "tests/support/tap.h"
#include "xtop/supervise/sandbox.h"

int main(void)
{
	const bool was_root = geteuid() == 0;
	static const char *const ids[] = { "0", "12x", "-5", "", "4294967295", " 7" };

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		setenv("SUDO_UID", ids[i], 1);
		setenv("SUDO_GID", ids[i], 1);
		check(caller_find().uid == 65534 && caller_find().gid == 65534,
		      "SUDO_UID=%s: the caller is nobody", ids[i]);
	}
	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "100", 1);
	check(caller_find().uid == 1234 && caller_find().gid == 100,
	      "SUDO_UID=1234: the caller is the user who called sudo");
	check(caller_may_write("/tmp"), "the caller may write in /tmp");
	check(!caller_may_write("/proc"), "the caller may not write in /proc");
	if (was_root)
		check(!caller_may_write("/root"), "the caller may not write in root's folder");
	check(geteuid() == 0 || !was_root, "this process is still root");
	return tap_done();
}
