/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packed files as streams; see unpack.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xtop/base/unpack.h"

struct unpack_stream {
	unpack_fill_fn *fill;
	void *context;
	struct unpacker *unpacker; /* NULL: the bytes are not packed */
	uint8_t *in;               /* bytes of BUFFER that were not unpacked or copied yet */
	size_t n_in;
	unsigned long long offset; /* offset in the file of the end of IN */
	uint8_t buffer[UNPACK_FILL_BYTES];
};

struct xtop_error *unpack_stream_create(unpack_fill_fn *fill, void *context,
					struct unpack_stream **streamp)
{
	struct unpack_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return error_create("out of memory");
	stream->fill = fill;
	stream->context = context;
	*streamp = stream;
	return NULL;
}

void unpack_stream_destroy(struct unpack_stream *stream)
{
	if (!stream)
		return;
	unpacker_destroy(stream->unpacker);
	free(stream);
}

/* Reads the next bytes of the file; those before have been used. At its end n_in becomes 0. */
static struct xtop_error *unpack_stream_fill(struct unpack_stream *stream)
{
	struct xtop_error *error = stream->fill(stream->context, stream->buffer, &stream->n_in);

	stream->in = stream->buffer;
	stream->offset += stream->n_in;
	return error;
}

struct xtop_error *unpack_stream_begin(struct unpack_stream *stream, const void *head, size_t n)
{
	enum unpack_format format;
	struct xtop_error *error = NULL;

	stream->in = stream->buffer;
	stream->n_in = stream->offset = n;
	if (n)
		memcpy(stream->buffer, head, n);
	else
		error = unpack_stream_fill(stream);
	if (error)
		return error;
	unpacker_destroy(stream->unpacker);
	stream->unpacker = NULL;
	format = unpack_find_format(stream->in, stream->n_in);
	return format == UNPACK_NONE ? NULL : unpacker_create(format, &stream->unpacker);
}

bool unpack_stream_is_packed(const struct unpack_stream *stream)
{
	return stream->unpacker;
}

static struct xtop_error *unpack_stream_damaged(const struct unpack_stream *stream,
						const char *what)
{
	return error_create("damaged at byte %llu: %s", stream->offset - stream->n_in, what);
}

/* Unpacks, or copies, up to *LEFTP bytes to NEXT. *LEFTP becomes the rest of that room. */
static struct xtop_error *unpack_stream_move(struct unpack_stream *stream, uint8_t *next,
					     size_t *leftp)
{
	struct unpack_step step = { stream->in, stream->n_in, next, *leftp };
	const char *wrong = NULL;

	if (stream->unpacker) {
		wrong = unpacker_run(stream->unpacker, &step);
	} else {
		size_t n = step.in_bytes < *leftp ? step.in_bytes : *leftp;

		memcpy(next, step.in, n);
		step.in_bytes -= n;
		step.out_bytes -= n;
	}
	stream->in += stream->n_in - step.in_bytes;
	stream->n_in = step.in_bytes;
	*leftp = step.out_bytes;
	return wrong ? unpack_stream_damaged(stream, wrong) : NULL;
}

struct xtop_error *unpack_stream_read(struct unpack_stream *stream, void *buffer, size_t capacity,
				      size_t *np)
{
	struct xtop_error *error = NULL;
	size_t left = capacity;

	while (left && !error) {
		if (!stream->n_in)
			error = unpack_stream_fill(stream);
		if (error || !stream->n_in)
			break;
		error = unpack_stream_move(stream, (uint8_t *)buffer + capacity - left, &left);
	}
	if (!error && left && stream->unpacker && !unpacker_is_whole(stream->unpacker))
		error = unpack_stream_damaged(stream, "cut short");
	if (!error)
		*np = capacity - left;
	return error;
}

/* --- files ------------------------------------------------------------------------------------ */

struct xtop_error *unpack_fill_file(void *context, uint8_t buffer[UNPACK_FILL_BYTES], size_t *np)
{
	struct unpack_file *file = context;
	ssize_t got = pread(file->fd, buffer, UNPACK_FILL_BYTES, file->offset);

	if (got < 0)
		return error_create_errno(errno, "cannot be read");
	file->offset += got;
	*np = (size_t)got;
	return NULL;
}

/* What fopencookie() gets. */
struct unpack_cookie {
	struct unpack_stream *stream;
	struct unpack_file file;
};

static ssize_t unpack_cookie_read(void *context, char *buffer, size_t size_bytes)
{
	struct unpack_cookie *cookie = context;
	size_t n = 0;
	struct xtop_error *error = unpack_stream_read(cookie->stream, buffer, size_bytes, &n);

	if (!error)
		return (ssize_t)n;
	error_destroy(error);
	errno = EBADMSG;
	return -1;
}

static int unpack_cookie_close(void *context)
{
	struct unpack_cookie *cookie = context;

	unpack_stream_destroy(cookie->stream);
	if (cookie->file.fd >= 0)
		close(cookie->file.fd);
	free(cookie);
	return 0;
}

FILE *unpack_open(int fd)
{
	static const cookie_io_functions_t functions = { .read = unpack_cookie_read,
							 .close = unpack_cookie_close };
	struct unpack_cookie *cookie = calloc(1, sizeof(*cookie));
	struct xtop_error *error;
	FILE *file = NULL;

	if (!cookie)
		return NULL;
	cookie->file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	error = unpack_stream_create(unpack_fill_file, &cookie->file, &cookie->stream);
	if (!error)
		error = unpack_stream_begin(cookie->stream, NULL, 0);
	if (!error && unpack_stream_is_packed(cookie->stream))
		file = fopencookie(cookie, "r", functions);
	if (!file)
		unpack_cookie_close(cookie);
	error_destroy(error);
	return file;
}
