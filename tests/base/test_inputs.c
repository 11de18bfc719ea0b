/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that were opened at start can be read later, even if they cannot be opened any more, and as
 * often as they are needed. Errors are kept, too.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/inputs.h"

static char path[] = "/tmp/xtop-test-XXXXXX";

static struct inputs *create(void)
{
	struct inputs *inputs;

	must(inputs_create(&inputs));
	return inputs;
}

static char first_byte(int fd)
{
	char byte = 0;

	return read(fd, &byte, 1) == 1 ? byte : '?';
}

static void test_file(void)
{
	struct inputs *inputs = create();
	int fd = mkstemp(path), second;

	if (fd < 0 || write(fd, "ab", 2) != 2)
		abort();
	close(fd);
	check(!inputs_add(inputs, path) && !inputs_add(inputs, path) &&
		      !inputs_add(inputs, "/nonexistent"),
	      "files are added: one of them twice, and one that does not exist");
	unlink(path);
	fd = inputs_open(inputs, path);
	check(fd >= 0 && first_byte(fd) == 'a', "an added file is read after it was removed");
	second = inputs_open(inputs, path);
	check(second >= 0 && second != fd && first_byte(second) == 'a',
	      "a file that is opened again is read from its beginning");
	close(fd);
	check(first_byte(second) == 'b', "each opening of a file gives its own descriptor");
	close(second);
	for (int i = 0; i < 2; i++) {
		errno = 0;
		check(inputs_open(inputs, "/nonexistent") < 0 && errno == ENOENT,
		      "the error of an added file is kept");
	}
	fd = inputs_open(inputs, "/dev/null");
	check(fd >= 0, "a file that was not added is opened");
	close(fd);
	inputs_destroy(inputs);
	errno = 0;
	check(inputs_open(NULL, path) < 0 && errno == ENOENT,
	      "without inputs a file that was removed is not found");
}

/* The bytes of the pipe can be read several times. The other end was closed before. */
static void test_pipe(bool added)
{
	struct inputs *inputs = added ? create() : NULL;
	char name[32], text[8];
	int ends[2], fd = -1;
	bool is_pipe = false;

	if (pipe(ends) || write(ends[1], "names", 5) != 5)
		abort();
	close(ends[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	check(!added || !inputs_add(inputs, name), "a pipe is added");
	for (int i = 0; i < (added ? 2 : 1); i++) {
		struct xtop_error *error = inputs_open_copy(inputs, name, 5, &fd, &is_pipe);

		check(!error && is_pipe && pread(fd, text, 8, 0) == 5 && !memcmp(text, "names", 5),
		      "a pipe gives all bytes, time %d", i + 1);
		error_destroy(error);
		close(fd);
	}
	close(ends[0]);
	inputs_destroy(inputs);
}

static void test_long_pipe(void)
{
	struct xtop_error *error;
	int ends[2], fd = -1;
	bool is_pipe;
	char name[32];

	if (pipe(ends) || write(ends[1], "names", 5) != 5)
		abort();
	close(ends[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	error = inputs_open_copy(NULL, name, 4, &fd, &is_pipe);
	check(error && fd == -1 && strstr(error_message(error), "from a pipe: give a file"),
	      "a pipe with more bytes than allowed is refused");
	error_destroy(error);
	close(ends[0]);
}

/* A packed file is read unpacked, again and again, and nothing else becomes of its size. */
static void test_packed(void)
{
	char name[] = "/tmp/xtop-test-XXXXXX", text[8] = "";
	struct inputs *inputs = create();
	int fd = mkstemp(name);
	gzFile file = fd < 0 ? NULL : gzdopen(dup(fd), "w");
	struct xtop_error *error;
	bool is_pipe = true;

	if (!file || gzwrite(file, "unpacked", 8) != 8 || gzclose(file) != Z_OK ||
	    inputs_add(inputs, name))
		abort();
	close(fd);
	for (int i = 0; i < 2; i++) {
		check(!inputs_open_copy(inputs, name, 8, &fd, &is_pipe) && !is_pipe &&
			      pread(fd, text, 8, 0) == 8 && !memcmp(text, "unpacked", 8),
		      "a packed file is read");
		close(fd);
	}
	inputs_destroy(inputs);
	error = inputs_open_copy(NULL, name, 7, &fd, &is_pipe);
	check(error && strstr(error_message(error), "when unpacked"), "too large: %s",
	      error ? error_message(error) : "read");
	error_destroy(error);
	if (truncate(name, 20))
		abort();
	error = inputs_open_copy(NULL, name, 8, &fd, &is_pipe);
	check(error && strstr(error_message(error), "cut short"), "cut: %s",
	      error ? error_message(error) : "read");
	error_destroy(error);
	unlink(name);
}

int main(void)
{
	struct inputs *inputs = create();
	bool is_pipe = true;
	int fd = -1;

	test_file();
	test_pipe(true);
	test_pipe(false);
	test_long_pipe();
	test_packed();
	check(!inputs_open_copy(NULL, "/dev/null", 1, &fd, &is_pipe) && !is_pipe,
	      "a file that is no pipe is not copied");
	close(fd);
	check(!inputs_add(inputs, "/dev/zero"), "a file is added and never opened");
	inputs_destroy(inputs);
	return tap_done();
}
