/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files opened at start; see inputs.h. */
#include "config.h"

#include "xtop/base/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/output.h"
#include "xtop/base/unpack.h"

#define COPY_BYTES (64U << 10)

struct opened_input {
	struct opened_input *next;
	const char *path; /* the path on the command line */
	int fd;           /* -1: open() failed with errno_value */
	int errno_value;
	bool was_pipe; /* fd is a copy of the pipe's content */
};

struct inputs {
	struct opened_input *first;
};

struct xtop_error *inputs_create(struct inputs **inputsp)
{
	*inputsp = calloc(1, sizeof(**inputsp));
	return *inputsp ? NULL : error_create("out of memory");
}

static int inputs_open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

static struct opened_input *inputs_find(const struct inputs *inputs, const char *path)
{
	struct opened_input *input = inputs ? inputs->first : NULL;

	while (input && strcmp(input->path, path) != 0)
		input = input->next;
	return input;
}

struct xtop_error *inputs_add(struct inputs *inputs, const char *path)
{
	struct opened_input *input;

	if (inputs_find(inputs, path))
		return NULL;
	input = malloc(sizeof(*input));
	if (!input)
		return error_create("out of memory");
	*input = (struct opened_input){ .next = inputs->first,
					.path = path,
					.fd = inputs_open_file(path) };
	if (input->fd < 0)
		input->errno_value = errno;
	inputs->first = input;
	return NULL;
}

int inputs_open(const struct inputs *inputs, const char *path)
{
	const struct opened_input *input = inputs_find(inputs, path);
	int fd;

	if (!input)
		return inputs_open_file(path);
	if (input->fd < 0) {
		errno = input->errno_value;
		return -1;
	}
	fd = fcntl(input->fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET); /* fails for a pipe, which is read once */
	return fd;
}

/* --- copies ----------------------------------------------------------------------------------- */

/* An unpack_fill_fn for pipes. */
static struct xtop_error *inputs_fill_pipe(void *context, uint8_t buffer[UNPACK_FILL_BYTES],
					   size_t *np)
{
	const struct unpack_file *file = context;
	ssize_t got;

	do {
		got = read(file->fd, buffer, UNPACK_FILL_BYTES);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_create_errno(errno, "cannot be read");
	*np = (size_t)got;
	return NULL;
}

/* Writes all of STREAM to TO. BOUND ends the message of the error "more than MAX_BYTES". */
static struct xtop_error *inputs_copy(struct unpack_stream *stream, int to, uint64_t max_bytes,
				      const char *bound)
{
	_cleanup_free_ char *buffer = malloc(COPY_BYTES);
	uint64_t bytes = 0;
	size_t got = COPY_BYTES;

	if (!buffer)
		return error_create("no memory for a copy");
	while (got == COPY_BYTES) {
		struct xtop_error *error = unpack_stream_read(stream, buffer, COPY_BYTES, &got);

		if (error)
			return error;
		bytes += got;
		if (bytes > max_bytes)
			return error_create("more than %llu MiB %s",
					    (unsigned long long)max_bytes >> 20, bound);
		if (!output_write(to, buffer, got))
			return error_create_errno(errno, "no memory for a copy");
	}
	return lseek(to, 0, SEEK_SET) < 0 ? error_create_errno(errno, "cannot be read") : NULL;
}

/* Copies FROM, which is a pipe, or is packed. */
static struct xtop_error *inputs_unpack(int from, bool is_pipe, int to, uint64_t max_bytes)
{
	struct unpack_file file = { .fd = from };
	struct unpack_stream *stream;
	struct xtop_error *error =
		unpack_stream_create(is_pipe ? inputs_fill_pipe : unpack_fill_file, &file, &stream);

	if (error)
		return error;
	error = unpack_stream_begin(stream, NULL, 0);
	if (!error)
		error = inputs_copy(stream, to, max_bytes,
				    unpack_stream_is_packed(stream) ? "when unpacked"
								    : "from a pipe: give a file");
	unpack_stream_destroy(stream);
	return error;
}

/* Replaces *FDP by a copy. INPUT, if there is one, keeps a duplicate for the next caller. */
static struct xtop_error *inputs_replace(int *fdp, struct opened_input *input, bool is_pipe,
					 uint64_t max_bytes)
{
	_cleanup_close_ int copy = memfd_create("xtop-input", MFD_CLOEXEC);
	struct xtop_error *error;

	if (copy < 0)
		return error_create_errno(errno, "no memory for a copy");
	error = inputs_unpack(*fdp, is_pipe, copy, max_bytes);
	if (error)
		return error;
	if (input) {
		int kept = fcntl(copy, F_DUPFD_CLOEXEC, 0);

		if (kept < 0)
			return error_create_errno(errno, "no memory for a copy");
		close(input->fd);
		input->fd = kept;
		input->was_pipe |= is_pipe;
	}
	close(*fdp);
	*fdp = copy;
	copy = -1;
	return NULL;
}

/* Whether FD is a packed file. False for a pipe, which cannot be read at offsets. */
static bool inputs_is_packed(int fd)
{
	char head[UNPACK_HEAD_BYTES];
	ssize_t got = pread(fd, head, sizeof(head), 0);

	return got > 0 && unpack_find_format(head, (size_t)got) != UNPACK_NONE;
}

struct xtop_error *inputs_open_copy(struct inputs *inputs, const char *path, uint64_t max_bytes,
				    int *fdp, bool *is_pipep)
{
	struct opened_input *input = inputs_find(inputs, path);
	_cleanup_close_ int fd = inputs_open(inputs, path);
	struct xtop_error *error = NULL;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_create_errno(errno, "cannot be opened");
	*is_pipep = S_ISFIFO(status.st_mode) || (input && input->was_pipe);
	if (S_ISFIFO(status.st_mode) || inputs_is_packed(fd))
		error = inputs_replace(&fd, input, S_ISFIFO(status.st_mode), max_bytes);
	if (error)
		return error;
	*fdp = fd;
	fd = -1;
	return NULL;
}

void inputs_destroy(struct inputs *inputs)
{
	while (inputs && inputs->first) {
		struct opened_input *input = inputs->first;

		inputs->first = input->next;
		if (input->fd >= 0)
			close(input->fd);
		free(input);
	}
	free(inputs);
}
