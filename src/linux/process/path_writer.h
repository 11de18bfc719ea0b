/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a path from its end to its front, because a walk from a file leads to its parents. */
#ifndef XTOP_PROCESS_PATH_WRITER_H
#define XTOP_PROCESS_PATH_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct path_writer {
	char *path;
	size_t size_bytes; /* size of PATH, with the NUL */
	size_t start;      /* index of the first byte written */
};

static inline void path_writer_begin(struct path_writer *writer, char *path, size_t size_bytes)
{
	*writer = (struct path_writer){ path, size_bytes, size_bytes - 1 };
	path[size_bytes - 1] = '\0';
}

/* Returns false if there is no room for the N BYTES. */
static inline bool path_writer_prepend(struct path_writer *writer, const char *bytes, size_t n)
{
	if (n > writer->start)
		return false;
	writer->start -= n;
	memcpy(writer->path + writer->start, bytes, n);
	return true;
}

/* Moves the written text to the front of PATH; "/" if nothing was written. */
static inline void path_writer_end(struct path_writer *writer)
{
	if (!writer->path[writer->start])
		path_writer_prepend(writer, "/", 1);
	memmove(writer->path, writer->path + writer->start, writer->size_bytes - writer->start);
}

#endif
