/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files below --root DIR; see root_file.h. Resolver's thread.
 *
 * The path comes from the guest, and the directory tree may come from the guest too: a symbolic
 * link in it may point anywhere. openat2() with RESOLVE_IN_ROOT takes DIR for "/" on the whole way,
 * as chroot() would (openat2(2), Linux 5.6). --root finds no files where dom0's kernel lacks
 * openat2(). With O_NONBLOCK, opening a FIFO does not block before fstat() tells that it is a FIFO.
 */
#include "config.h"

#include "linux/process/root_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool root_file_open(int root_fd, const char *path, struct root_file *file)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	struct stat status;
	int fd;

	if (root_fd < 0)
		return false;
	fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd < 0)
		return false;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return false;
	}
	*file = (struct root_file){ .fd = fd, .size_bytes = (uint64_t)status.st_size };
	return true;
}

void root_file_close(struct root_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}
