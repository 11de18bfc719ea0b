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
#include "xtop/base/unpack.h"

#define COPY_BYTES (64U << 10)

struct opened_input {
	struct opened_input *next;
	const char *path; /* as given on the command line */
	int fd;           /* -1: open() failed with errno_value */
	int errno_value;
	bool was_pipe; /* fd is a copy of the pipe's content */
};

static struct opened_input *inputs;

static int inputs_open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

static struct opened_input *inputs_find(const char *path)
{
	struct opened_input *input = inputs;

	while (input && strcmp(input->path, path) != 0)
		input = input->next;
	return input;
}

struct xtop_error *inputs_add(const char *path)
{
	struct opened_input *input;

	if (inputs_find(path))
		return NULL;
	input = malloc(sizeof(*input));
	if (!input)
		return error_create("out of memory");
	*input =
		(struct opened_input){ .next = inputs, .path = path, .fd = inputs_open_file(path) };
	if (input->fd < 0)
		input->errno_value = errno;
	inputs = input;
	return NULL;
}

int inputs_open(const char *path)
{
	struct opened_input *input = inputs_find(path);
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

/* --- pipes ------------------------------------------------------------------------------------ */

static struct xtop_error *inputs_copy(int from, int to, uint64_t max_bytes)
{
	_cleanup_free_ char *buffer = malloc(COPY_BYTES);
	uint64_t bytes = 0;
	ssize_t got;

	if (!buffer)
		return error_create("no memory for a copy");
	while ((got = read(from, buffer, COPY_BYTES)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_create_errno(errno, "cannot be read");
		bytes += (uint64_t)got;
		if (bytes > max_bytes)
			return error_create("more than %llu MiB from a pipe: give a file",
					    (unsigned long long)max_bytes >> 20);
		if (write(to, buffer, (size_t)got) != got)
			return error_create_errno(errno, "no memory for a copy");
	}
	return lseek(to, 0, SEEK_SET) < 0 ? error_create_errno(errno, "cannot be read") : NULL;
}

/* --- packed files ----------------------------------------------------------------------------- */

/* A file that is being unpacked. */
struct inputs_unpacking {
	struct unpacker *unpacker;
	int to;
	uint64_t bytes, max_bytes; /* written so far, and at most */
	uint8_t in[COPY_BYTES], out[COPY_BYTES];
};

/* Unpacks N bytes. */
static struct xtop_error *inputs_unpack_some(struct inputs_unpacking *unpacking, size_t n)
{
	struct unpack_step step = { .in = unpacking->in, .in_bytes = n };
	const char *wrong = NULL;
	size_t got;

	do {
		step.out = unpacking->out;
		step.out_bytes = COPY_BYTES;
		wrong = unpacker_run(unpacking->unpacker, &step);
		got = COPY_BYTES - step.out_bytes;
		unpacking->bytes += got;
		if (wrong)
			return error_create("damaged: %s", wrong);
		if (unpacking->bytes > unpacking->max_bytes)
			return error_create("more than %llu MiB when unpacked",
					    (unsigned long long)unpacking->max_bytes >> 20);
		if (got && write(unpacking->to, unpacking->out, got) != (ssize_t)got)
			return error_create_errno(errno, "no memory for a copy");
	} while (got == COPY_BYTES || step.in_bytes);
	return NULL;
}

static struct xtop_error *inputs_unpack_all(struct inputs_unpacking *unpacking, int from)
{
	struct xtop_error *error;
	ssize_t got;
	off_t at = 0;

	while ((got = pread(from, unpacking->in, COPY_BYTES, at)) > 0) {
		error = inputs_unpack_some(unpacking, (size_t)got);
		if (error)
			return error;
		at += got;
	}
	if (got < 0)
		return error_create_errno(errno, "cannot be read");
	if (!unpacker_is_whole(unpacking->unpacker))
		return error_create("damaged: it is cut short");
	return lseek(unpacking->to, 0, SEEK_SET) < 0 ? error_create_errno(errno, "cannot be read")
						     : NULL;
}

static struct xtop_error *inputs_unpack(int from, int to, enum unpack_format format,
					uint64_t max_bytes)
{
	_cleanup_free_ struct inputs_unpacking *unpacking = calloc(1, sizeof(*unpacking));
	struct xtop_error *error;

	if (!unpacking)
		return error_create("no memory for a copy");
	unpacking->to = to;
	unpacking->max_bytes = max_bytes;
	error = unpacker_create(format, &unpacking->unpacker);
	if (!error)
		error = inputs_unpack_all(unpacking, from);
	unpacker_destroy(unpacking->unpacker);
	return error;
}

/* How the file FD is packed. What cannot be read at offsets is not. */
static enum unpack_format inputs_find_format(int fd)
{
	char head[UNPACK_HEAD_BYTES];
	ssize_t got = pread(fd, head, sizeof(head), 0);

	return got > 0 ? unpack_find_format(head, (size_t)got) : UNPACK_NONE;
}

/* --- copies ----------------------------------------------------------------------------------- */

/*
 * Replaces *FDP by a copy: of a pipe, if FORMAT is UNPACK_NONE, or else unpacked. INPUT, if there
 * is one, keeps a duplicate for the next caller.
 */
static struct xtop_error *inputs_replace(int *fdp, struct opened_input *input,
					 enum unpack_format format, uint64_t max_bytes)
{
	_cleanup_close_ int copy = memfd_create("xtop-input", MFD_CLOEXEC);
	struct xtop_error *error;

	if (copy < 0)
		return error_create_errno(errno, "no memory for a copy");
	error = format == UNPACK_NONE ? inputs_copy(*fdp, copy, max_bytes)
				      : inputs_unpack(*fdp, copy, format, max_bytes);
	if (error)
		return error;
	if (input) {
		int kept = fcntl(copy, F_DUPFD_CLOEXEC, 0);

		if (kept < 0)
			return error_create_errno(errno, "no memory for a copy");
		close(input->fd);
		input->fd = kept;
		input->was_pipe |= format == UNPACK_NONE;
	}
	close(*fdp);
	*fdp = copy;
	copy = -1;
	return NULL;
}

struct xtop_error *inputs_open_copy(const char *path, uint64_t max_bytes, int *fdp, bool *is_pipep)
{
	struct opened_input *input = inputs_find(path);
	_cleanup_close_ int fd = inputs_open(path);
	struct xtop_error *error = NULL;
	enum unpack_format format;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_create_errno(errno, "cannot be opened");
	*is_pipep = S_ISFIFO(status.st_mode) || (input && input->was_pipe);
	if (S_ISFIFO(status.st_mode))
		error = inputs_replace(&fd, input, UNPACK_NONE, max_bytes);
	if (error)
		return error;
	format = inputs_find_format(fd);
	if (format != UNPACK_NONE)
		error = inputs_replace(&fd, input, format, max_bytes);
	if (error)
		return error;
	*fdp = fd;
	fd = -1;
	return NULL;
}

void inputs_close(void)
{
	while (inputs) {
		struct opened_input *input = inputs;

		inputs = input->next;
		if (input->fd >= 0)
			close(input->fd);
		free(input);
	}
}
