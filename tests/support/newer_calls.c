/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints which of the system calls newer than Linux 4.19 the kernel has, one name a line. With an
 * argument: newer than Linux 4.4. Status 1: it has none.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N_AFTER_4_4 3 /* calls that Linux 4.19 has, and 4.4 has not */

/* Above 400 the numbers are those of all architectures: Linux include/uapi/asm-generic/unistd.h. */
static const struct {
	const char *name;
	long number;
} calls[] = {
	{ "copy_file_range", SYS_copy_file_range },
	{ "preadv2", SYS_preadv2 },
	{ "statx", SYS_statx },
	{ "pidfd_send_signal", 424 },
	{ "io_uring_setup", 425 },
	{ "pidfd_open", 434 },
	{ "clone3", 435 },
	{ "close_range", 436 },
	{ "openat2", 437 },
	{ "pidfd_getfd", 438 },
	{ "faccessat2", 439 },
	{ "epoll_pwait2", 441 },
	{ "landlock_create_ruleset", 444 },
	{ "memfd_secret", 447 },
	{ "futex_waitv", 449 },
	{ "fchmodat2", 452 },
};

int main(int argc, char **argv)
{
	bool has_one = false;

	(void)argv;
	for (size_t i = argc > 1 ? 0 : N_AFTER_4_4; i < sizeof(calls) / sizeof(calls[0]); i++) {
		/* Every call refuses these arguments. */
		if (syscall(calls[i].number, -1, 1, -1, -1, -1) < 0 && errno == ENOSYS)
			continue;
		puts(calls[i].name);
		has_one = true;
	}
	return has_one ? 0 : 1;
}
