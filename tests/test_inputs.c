/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files opened at start are there when nobody could open them any more, and so are their errors. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/tap.h"
#include "xtop/inputs.h"

static char path[] = "/tmp/xtop-test-XXXXXX";

static char first_byte(int fd)
{
	char byte = 0;

	return read(fd, &byte, 1) == 1 ? byte : '?';
}

int main(void)
{
	int fd = mkstemp(path), second;

	if (fd < 0 || write(fd, "ab", 2) != 2)
		abort();
	close(fd);
	check(!inputs_add(path) && !inputs_add(path) && !inputs_add("/nonexistent"), "added");
	unlink(path);
	fd = inputs_take(path);
	second = inputs_take(path);
	check(fd >= 0 && first_byte(fd) == 'a', "read after it went");
	check(second >= 0 && second != fd && first_byte(second) == 'a',
	      "given twice: each from its beginning");
	errno = 0;
	check(inputs_take(path) < 0 && errno == ENOENT, "no more of them");
	errno = 0;
	check(inputs_take("/nonexistent") < 0 && errno == ENOENT, "the error is kept");
	close(fd);
	close(second);
	fd = inputs_take("/dev/null");
	check(fd >= 0, "what was not added is opened");
	close(fd);
	check(!inputs_add("/dev/zero"), "added and not taken");
	inputs_close();
	return tap_done();
}
