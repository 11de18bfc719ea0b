/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel whose pages are not Xen's: dom0 of arm64 may have 16 or 64 KiB. xtop refuses to read
 * guests there, and says what to do.
 */
#include "config.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/xen/foreign.h"

static long page_bytes; /* the kernel's page size, as this test has it */

/* In the place of sysconf(), by the linker's --wrap. */
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
	return name == _SC_PAGESIZE ? page_bytes : -1;
}

static const char *refusal(long bytes, int *fdp)
{
	static char message[256];
	struct xtop_error *error;

	page_bytes = bytes;
	error = foreign_open_fd(7, fdp);
	snprintf(message, sizeof(message), "%s", error ? error_message(error) : "none");
	error_destroy(error);
	return message;
}

int main(void)
{
	int fd = -2;

	check_string(refusal(16384, &fd),
		     "this kernel has pages of 16384 bytes: to sample guests, boot one with pages of "
		     "4096 bytes",
		     "pages of 16 KiB");
	check_string(refusal(65536, &fd),
		     "this kernel has pages of 65536 bytes: to sample guests, boot one with pages of "
		     "4096 bytes",
		     "pages of 64 KiB");
	check(fd == -2, "there is no descriptor for the guest's memory");
	if (access("/dev/xen/privcmd", F_OK) == 0)
		printf("ok %u - # SKIP there is Xen here\n", ++tap_points);
	else
		check(!strncmp(refusal(4096, &fd), "cannot open the guest's memory", 30),
		      "pages of 4 KiB, without Xen: %s", refusal(4096, &fd));
	return tap_done();
}
