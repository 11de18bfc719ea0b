/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that was fetched; see fetched_file.h. */
#include "config.h"

#include "tests/support/fetched_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int fetched_file_make(const void *bytes, size_t n)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/file", getenv("DEBUGINFOD_CACHE_PATH"));
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, bytes, n) != (ssize_t)n)
		exit(99);
	return fd;
}
