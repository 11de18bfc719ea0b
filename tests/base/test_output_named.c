/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are named while xtop runs: which paths are refused, which files are replaced, and which
 * are removed. A file may be exchanged between any two looks at it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/base/output.h"

static char folder[] = "/tmp/xtop-named-XXXXXX";
static char path[64], other[64];

static const char *const endings[] = { ".folded", ".pb.gz", NULL };

/* What happens after the next look at the path. */
static void (*exchange)(void);

int fstatat(int from, const char *name, struct stat *status, int flags)
{
	int result = (int)syscall(SYS_newfstatat, from, name, status, flags);
	int errno_value = errno;

	if (exchange)
		exchange();
	exchange = NULL;
	errno = errno_value;
	return result;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static bool there(const char *name)
{
	return access(name, F_OK) == 0;
}

/* Opens NAME. The words of the error, or "". */
static const char *opened(const char *name, bool replace, bool *exists)
{
	static char words[512];
	struct xtop_error *error;
	int fd = -1;

	*exists = true;
	error = output_open_named_fd(name, endings, replace, &fd, exists);
	snprintf(words, sizeof(words), "%s", error ? error_message(error) : "");
	error_destroy(error);
	if (fd >= 0)
		close(fd);
	return words;
}

/* --- names ------------------------------------------------------------------------------------ */

static void test_names(void)
{
	char behind[] = "x.folded";
	bool exists;

	check(*opened("/tmp/.x/a.folded", false, &exists) && !exists,
	      "a hidden folder's file is refused, and is none that may be replaced");
	check(strstr(opened("/tmp/a.txt", false, &exists), "one of .folded, .pb.gz"),
	      "a refusal names the endings: %s", opened("/tmp/a.txt", false, &exists));
	unlink(behind + strlen("x.folde")); /* what a faulty xtop has left here */
	check(strstr(opened(behind + strlen("x.folde"), false, &exists), "must end in") &&
		      !there(behind + strlen("x.folde")),
	      "a name that is shorter than an ending has none, whatever is before it");
}

/* --- files that exist ------------------------------------------------------------------------- */

static void make_link(void)
{
	if (unlink(path) || symlink(other, path))
		abort();
}

static void make_fifo(void)
{
	if (unlink(path) || mkfifo(path, 0600))
		abort();
}

static void make_device(void)
{
	if (unlink(path) || symlink("/dev/null", path))
		abort();
}

/* The file is replaced by something else when it was looked at. */
static void test_exchanged(void (*by)(void), const char *what)
{
	bool exists;

	put(path, "");
	exchange = by;
	alarm(5); /* an open that waits ends the test */
	check(*opened(path, true, &exists), "a file that becomes %s is not opened", what);
	alarm(0);
	unlink(path);
}

static void read_fifo(void)
{
	make_fifo();
	if (open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) < 0)
		abort();
}

static void test_replace(void)
{
	bool exists;

	put(path, "");
	check(!*opened(path, true, &exists), "a file of this user is replaced");
	if (link(path, other))
		abort();
	check(strstr(opened(path, true, &exists), path) != NULL,
	      "a file with another name is not replaced, and the error names it");
	unlink(other);
	if (geteuid() == 0) {
		if (chown(path, 65534, 65534))
			abort();
		check(*opened(path, true, &exists), "another user's file is not replaced");
	}
	unlink(path);
	put(other, "");
	test_exchanged(make_link, "a link");
	test_exchanged(make_device, "a link to a device");
	test_exchanged(make_fifo, "a FIFO");
	test_exchanged(read_fifo, "a FIFO with a reader");
	unlink(other);
}

/* --- removal ---------------------------------------------------------------------------------- */

/* Removes NAME as if it was the file that was made. */
static void remove_as_made(const char *name)
{
	struct stat status;

	if (lstat(name, &status))
		abort();
	output_remove_named(name, &(struct output_id){ status.st_dev, status.st_ino });
}

/* Another file with this name, or with this number in another file system. */
static void test_remove_others(void)
{
	struct stat status;

	put(path, "");
	if (stat(path, &status))
		abort();
	output_remove_named(path, &(struct output_id){ status.st_dev, status.st_ino + 1 });
	check(there(path), "a file stays that is not the one that was made");
	output_remove_named(path, &(struct output_id){ status.st_dev + 1, status.st_ino });
	check(there(path), "a file of another file system stays");
	unlink(path);
}

static void test_remove(void)
{
	char hidden[64];

	put(path, "");
	remove_as_made(path);
	check(!there(path), "an empty file is removed");
	put(path, "x");
	remove_as_made(path);
	check(there(path), "a file with content stays");
	put(path, "");
	if (link(path, other))
		abort();
	remove_as_made(path);
	check(there(path), "a file with another name stays");
	unlink(other);
	make_fifo();
	remove_as_made(path);
	check(there(path), "a FIFO stays");
	unlink(path);
	snprintf(hidden, sizeof(hidden), "%s/.hidden", folder);
	put(hidden, "");
	remove_as_made(hidden);
	check(there(hidden), "a hidden file stays");
	unlink(hidden);
	if (geteuid() == 0) {
		put(path, "");
		if (chown(path, 65534, 65534))
			abort();
		remove_as_made(path);
		check(there(path), "another user's file stays");
		unlink(path);
	}
}

int main(void)
{
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/a.folded", folder);
	snprintf(other, sizeof(other), "%s/b.folded", folder);
	test_names();
	test_replace();
	test_remove();
	test_remove_others();
	rmdir(folder);
	return tap_done();
}
