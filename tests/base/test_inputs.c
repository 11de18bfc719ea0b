/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files opened at start are there when nobody could open them any more, each time they are asked
 * for, and so are their errors.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/inputs.h"

static char path[] = "/tmp/xtop-test-XXXXXX";

static char first_byte(int fd)
{
	char byte = 0;

	return read(fd, &byte, 1) == 1 ? byte : '?';
}

static void test_file(void)
{
	int fd = mkstemp(path), second;

	if (fd < 0 || write(fd, "ab", 2) != 2)
		abort();
	close(fd);
	check(!inputs_add(path) && !inputs_add(path) && !inputs_add("/nonexistent"), "added");
	unlink(path);
	fd = inputs_take(path);
	check(fd >= 0 && first_byte(fd) == 'a', "read after it went");
	second = inputs_take(path);
	check(second >= 0 && second != fd && first_byte(second) == 'a',
	      "taken again: from its beginning");
	close(fd);
	check(first_byte(second) == 'b', "each has a descriptor of its own");
	close(second);
	for (int i = 0; i < 2; i++) {
		errno = 0;
		check(inputs_take("/nonexistent") < 0 && errno == ENOENT, "the error is kept");
	}
	fd = inputs_take("/dev/null");
	check(fd >= 0, "what was not added is opened");
	close(fd);
	inputs_close();
	errno = 0;
	check(inputs_take(path) < 0 && errno == ENOENT, "closed: no more of them");
}

/* What came out of the pipe is there for each who asks; its other end was closed long ago. */
static void test_pipe(bool added)
{
	char name[32], text[8];
	int ends[2], fd = -1;
	bool is_pipe = false;

	if (pipe(ends) || write(ends[1], "names", 5) != 5)
		abort();
	close(ends[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	check(!added || !inputs_add(name), "a pipe is added");
	for (int i = 0; i < (added ? 2 : 1); i++) {
		struct xtop_error *error = inputs_take_copy(name, 5, &fd, &is_pipe);

		check(!error && is_pipe && pread(fd, text, 8, 0) == 5 && !memcmp(text, "names", 5),
		      "all of it, time %d", i + 1);
		error_destroy(error);
		close(fd);
	}
	close(ends[0]);
	inputs_close();
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
	error = inputs_take_copy(name, 4, &fd, &is_pipe);
	check(error && fd == -1 && strstr(error_message(error), "from a pipe: give a file"),
	      "more than is allowed");
	error_destroy(error);
	close(ends[0]);
}

int main(void)
{
	bool is_pipe = true;
	int fd = -1;

	test_file();
	test_pipe(true);
	test_pipe(false);
	test_long_pipe();
	check(!inputs_take_copy("/dev/null", 1, &fd, &is_pipe) && !is_pipe, "no pipe, no copy");
	close(fd);
	check(!inputs_add("/dev/zero"), "added and not taken");
	inputs_close();
	return tap_done();
}
