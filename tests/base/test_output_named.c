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

static struct {
	char folder[32], file[64], other[64];
} paths = { .folder = "/tmp/xtop-named-XXXXXX" };

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
	if (unlink(paths.file) || symlink(paths.other, paths.file))
		abort();
}

static void make_fifo(void)
{
	if (unlink(paths.file) || mkfifo(paths.file, 0600))
		abort();
}

static void make_device(void)
{
	if (unlink(paths.file) || symlink("/dev/null", paths.file))
		abort();
}

/* The file is replaced by something else when it was looked at. */
static void test_exchanged(void (*by)(void), const char *what)
{
	bool exists;

	put(paths.file, "");
	exchange = by;
	alarm(5); /* an open that waits ends the test */
	check(*opened(paths.file, true, &exists), "a file that becomes %s is not opened", what);
	alarm(0);
	unlink(paths.file);
}

static void read_fifo(void)
{
	make_fifo();
	if (open(paths.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC) < 0)
		abort();
}

static void test_replace(void)
{
	bool exists;

	put(paths.file, "");
	check(!*opened(paths.file, true, &exists), "a file of this user is replaced");
	if (link(paths.file, paths.other))
		abort();
	check(strstr(opened(paths.file, true, &exists), paths.file) != NULL,
	      "a file with another name is not replaced, and the error names it");
	unlink(paths.other);
	if (geteuid() == 0) {
		if (chown(paths.file, 65534, 65534))
			abort();
		check(*opened(paths.file, true, &exists), "another user's file is not replaced");
	}
	unlink(paths.file);
	put(paths.other, "");
	test_exchanged(make_link, "a link");
	test_exchanged(make_device, "a link to a device");
	test_exchanged(make_fifo, "a FIFO");
	test_exchanged(read_fifo, "a FIFO with a reader");
	unlink(paths.other);
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

	put(paths.file, "");
	if (stat(paths.file, &status))
		abort();
	output_remove_named(paths.file, &(struct output_id){ status.st_dev, status.st_ino + 1 });
	check(there(paths.file), "a file stays that is not the one that was made");
	output_remove_named(paths.file, &(struct output_id){ status.st_dev + 1, status.st_ino });
	check(there(paths.file), "a file of another file system stays");
	unlink(paths.file);
}

static void test_remove(void)
{
	char hidden[64];

	put(paths.file, "");
	remove_as_made(paths.file);
	check(!there(paths.file), "an empty file is removed");
	put(paths.file, "x");
	remove_as_made(paths.file);
	check(there(paths.file), "a file with content stays");
	put(paths.file, "");
	if (link(paths.file, paths.other))
		abort();
	remove_as_made(paths.file);
	check(there(paths.file), "a file with another name stays");
	unlink(paths.other);
	make_fifo();
	remove_as_made(paths.file);
	check(there(paths.file), "a FIFO stays");
	unlink(paths.file);
	snprintf(hidden, sizeof(hidden), "%s/.hidden", paths.folder);
	put(hidden, "");
	remove_as_made(hidden);
	check(there(hidden), "a hidden file stays");
	unlink(hidden);
	if (geteuid() == 0) {
		put(paths.file, "");
		if (chown(paths.file, 65534, 65534))
			abort();
		remove_as_made(paths.file);
		check(there(paths.file), "another user's file stays");
		unlink(paths.file);
	}
}

int main(void)
{
	if (!mkdtemp(paths.folder))
		abort();
	snprintf(paths.file, sizeof(paths.file), "%s/a.folded", paths.folder);
	snprintf(paths.other, sizeof(paths.other), "%s/b.folded", paths.folder);
	test_names();
	test_replace();
	test_remove();
	test_remove_others();
	rmdir(paths.folder);
	return tap_done();
}
