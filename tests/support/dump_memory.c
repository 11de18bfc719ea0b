/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest memory from a file; see dump_memory.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "dump_memory.h"

struct dump {
	int fd;
};

static void dump_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	const struct dump *dump = context;

	for (size_t i = 0; i < n; i++)
		ok[i] = frames[i].value < 1ULL << 40 &&
			pread(dump->fd, (char *)pages + i * GUEST_PAGE_SIZE, GUEST_PAGE_SIZE,
			      (off_t)(frames[i].value << GUEST_PAGE_SHIFT)) ==
				(ssize_t)GUEST_PAGE_SIZE;
}

static void dump_close(void *context)
{
	struct dump *dump = context;

	if (dump->fd >= 0)
		close(dump->fd);
	free(dump);
}

static const struct memory_ops dump_ops = { .read = dump_read, .close = dump_close };

struct xtop_error *dump_open(const char *path, struct memory **memoryp)
{
	struct dump *dump = calloc(1, sizeof(*dump));

	if (!dump)
		return error_create("out of memory");
	dump->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (dump->fd < 0) {
		dump_close(dump);
		return error_create_errno(errno, "cannot open '%s'", path);
	}
	return memory_create(&dump_ops, dump, memoryp);
}
