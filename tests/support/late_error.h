/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file system that reports a failed write only when a file is closed, as NFS, 9p and quotas do.
 * The libraries of a program that includes this call this close().
 */
#ifndef TESTS_LATE_ERROR_H
#define TESTS_LATE_ERROR_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static int close_errno; /* error with which close() fails; 0: close() succeeds */

int close(int fd)
{
	int result = (int)syscall(SYS_close, fd);

	if (!close_errno || result)
		return result;
	errno = close_errno;
	return -1;
}

#endif
