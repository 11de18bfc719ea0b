/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packed files as streams of stdio; see unpack.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "xtop/base/unpack.h"

struct unpack_stream {
	struct unpacker *unpacker;
	int fd;
	off_t offset;          /* where the file goes on behind BUFFER */
	struct unpack_step in; /* bytes that were read and are still to be unpacked */
	uint8_t buffer[1 << 16];
};

/* False: the file cannot be read. At its end nothing is added. */
static bool unpack_stream_fill(struct unpack_stream *stream)
{
	ssize_t got = pread(stream->fd, stream->buffer, sizeof(stream->buffer), stream->offset);

	if (got < 0)
		return false;
	stream->in.in = stream->buffer;
	stream->in.in_bytes = (size_t)got;
	stream->offset += got;
	return true;
}

static ssize_t unpack_stream_read(void *cookie, char *buffer, size_t size_bytes)
{
	struct unpack_stream *stream = cookie;

	stream->in.out = (uint8_t *)buffer;
	stream->in.out_bytes = size_bytes;
	while (stream->in.out_bytes == size_bytes) {
		if (!stream->in.in_bytes && !unpack_stream_fill(stream))
			return -1;
		if (!stream->in.in_bytes)
			break;
		if (unpacker_run(stream->unpacker, &stream->in)) {
			errno = EBADMSG;
			return -1;
		}
	}
	return (ssize_t)(size_bytes - stream->in.out_bytes);
}

static int unpack_stream_close(void *cookie)
{
	struct unpack_stream *stream = cookie;

	unpacker_destroy(stream->unpacker);
	if (stream->fd >= 0)
		close(stream->fd);
	free(stream);
	return 0;
}

FILE *unpack_open(int fd)
{
	static const cookie_io_functions_t functions = { .read = unpack_stream_read,
							 .close = unpack_stream_close };
	struct unpack_stream *stream = calloc(1, sizeof(*stream));
	enum unpack_format format;
	struct xtop_error *error;
	FILE *file = NULL;

	if (!stream)
		return NULL;
	stream->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	format = unpack_stream_fill(stream) ? unpack_find_format(stream->in.in, stream->in.in_bytes)
					    : UNPACK_NONE;
	error = format == UNPACK_NONE ? NULL : unpacker_create(format, &stream->unpacker);
	if (stream->unpacker)
		file = fopencookie(stream, "r", functions);
	if (!file)
		unpack_stream_close(stream);
	error_destroy(error);
	return file;
}
