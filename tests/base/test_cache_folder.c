/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder of cached kernels: whose it must be, one file a domain, and how much it may hold. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/base/cache_folder.h"

static char base[] = "/tmp/xtop-cache-XXXXXX";

static const char *below(const char *name)
{
	static char path[4][256];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", base, name);
	return path[turn];
}

static bool is_used(const char *path)
{
	int folder = cache_folder_open(path);

	if (folder >= 0)
		close(folder);
	return folder >= 0;
}

static void test_verdict(void)
{
	struct stat status;

	check(is_used(below("new/folders/xtop")) && stat(below("new/folders"), &status) == 0 &&
		      (status.st_mode & 0777) == 0700,
	      "made with those above it, for their owner alone");
	chmod(below("new/folders/xtop"), 0777);
	check(!is_used(below("new/folders/xtop")), "a folder that others can write to is refused");
	chmod(below("new/folders/xtop"), 0700);
	if (symlink("folders", below("new/link")) == 0)
		check(!is_used(below("new/link")), "a link to a folder is refused");
	if (geteuid() != 0) {
		check(!is_used("/root/xtop-test"), "a folder below somebody else's is refused");
		return;
	}
	/* As when sudo keeps the HOME of its caller, who may have put anything there. */
	if (mkdir(below("home"), 0755) || chown(below("home"), 1234, 1234) ||
	    mkdir(below("home/xtop"), 0700))
		exit(99);
	check(!is_used(below("home/xtop")), "a folder below somebody else's is refused");
	check(!is_used(below("home/.cache/xtop")) && access(below("home/.cache"), F_OK) != 0,
	      "nothing is made below somebody else's folder");
}

/* The file of UUID gets SIZE_BYTES, and is used at the time WHEN_S. */
static void fill(int folder, const char *uuid, off_t size_bytes, time_t when_s)
{
	const struct timespec times[2] = { { .tv_sec = when_s }, { .tv_sec = when_s } };
	int fd = cache_folder_open_file(folder, uuid);

	if (fd < 0 || ftruncate(fd, size_bytes) || futimens(fd, times))
		exit(99);
	close(fd);
}

static bool has(int folder, const char *name)
{
	return faccessat(folder, name, F_OK, 0) == 0;
}

static void test_files(int folder)
{
	struct stat status;

	fill(folder, "a-1", 10, 100);
	check(fstatat(folder, "kernel.a-1", &status, 0) == 0 && (status.st_mode & 0777) == 0600,
	      "one file a domain, for its owner alone");
	fill(folder, "a-1", 20, 100);
	check(fstatat(folder, "kernel.a-1", &status, 0) == 0 && status.st_size == 20,
	      "a key gives the same file the next time");
	check(cache_folder_open_file(folder, "") < 0 &&
		      cache_folder_open_file(folder, "../a") < 0 &&
		      cache_folder_open_file(folder, "a/b") < 0,
	      "text that is no UUID is refused");
	check(cache_folder_open_file(-1, "a-1") < 0, "without a folder there is no file");
	if (symlinkat("kernel.a-1", folder, "kernel.link") ||
	    linkat(folder, "kernel.a-1", folder, "kernel.hard", 0))
		exit(99);
	check(cache_folder_open_file(folder, "link") < 0, "a symbolic link is not opened");
	check(cache_folder_open_file(folder, "hard") < 0, "a file with another name is not opened");
	unlinkat(folder, "kernel.link", 0);
	unlinkat(folder, "kernel.hard", 0);
	if (mkfifoat(folder, "kernel.fifo", 0600))
		exit(99);
	check(cache_folder_open_file(folder, "fifo") < 0, "a FIFO is not opened");
	unlinkat(folder, "kernel.fifo", 0);
	if (fchmodat(folder, "kernel.a-1", 0620, 0))
		exit(99);
	check(cache_folder_open_file(folder, "a-1") < 0,
	      "a file that others can write to is not opened");
	unlinkat(folder, "kernel.a-1", 0);
}

static void test_limits(int folder)
{
	char uuid[16], name[32];

	for (unsigned i = 1; i < CACHE_FOLDER_MAX_FILES; i++) {
		snprintf(uuid, sizeof(uuid), "n%u", i);
		fill(folder, uuid, 100, 1000 + i);
	}
	fill(folder, "empty", 0, 5000);
	fill(folder, "n0", 100, 1000);
	check(!has(folder, "kernel.empty") && has(folder, "kernel.n1"),
	      "an empty file, of a guest that is not Linux, goes first");
	for (unsigned i = 0; i < CACHE_FOLDER_MAX_FILES; i++) {
		snprintf(uuid, sizeof(uuid), "n%u", i);
		fill(folder, uuid, 100, 1000 + i);
	}
	check(has(folder, "kernel.n0"), "as many files as the limit stay");
	fill(folder, "n0", 100, 2000);
	check(has(folder, "kernel.n1"), "a file that is opened again removes no other file");
	fill(folder, "more", 100, 2001);
	check(has(folder, "kernel.n0") && !has(folder, "kernel.n1") && has(folder, "kernel.n2"),
	      "for one more, the one that was not used for the longest time goes");
	for (unsigned i = 2; i < CACHE_FOLDER_MAX_FILES; i++) {
		snprintf(name, sizeof(name), "kernel.n%u", i);
		unlinkat(folder, name, 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		snprintf(uuid, sizeof(uuid), "large%u", i);
		fill(folder, uuid, CACHE_FOLDER_FILE_BYTES, 3000 + i);
	}
	check(!has(folder, "kernel.n0") && !has(folder, "kernel.more") &&
		      has(folder, "kernel.large0") && has(folder, "kernel.large3"),
	      "four large files are within the limit");
	fill(folder, "small", 1, 4000);
	check(!has(folder, "kernel.large0") && has(folder, "kernel.large1"),
	      "the oldest large file is removed for another file");
	/* What earlier versions left, and what is not ours. */
	if (mkdirat(folder, "kernel.dir", 0700))
		exit(99);
	fill(folder, "0", 1, 10);
	fill(folder, "last", CACHE_FOLDER_FILE_BYTES, 5000);
	fill(folder, "next", 1, 5001);
	check(!has(folder, "kernel.0") && has(folder, "kernel.dir"), "old files are removed, too");
}

int main(void)
{
	char command[64];
	int folder;

	if (!mkdtemp(base))
		return 99;
	test_verdict();
	folder = cache_folder_open(below("xtop"));
	test_files(folder);
	test_limits(folder);
	close(folder);
	snprintf(command, sizeof(command), "rm -r %s", base);
	return system(command) ? 99 : tap_done();
}
