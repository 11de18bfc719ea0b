/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files below --root DIR. No path and no link leads out of DIR, and nothing but a regular file is
 * ever opened: opening a device or a FIFO has effects.
 */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/root_file.h"

static char directory[] = "/tmp/xtop-root-XXXXXX";

static void path_of(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", directory, name);
}

static void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	path_of(path, sizeof(path), name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		exit(99);
}

static void make_link(const char *name, const char *target)
{
	char path[256];

	path_of(path, sizeof(path), name);
	if (symlink(target, path))
		exit(99);
}

static void make_directory(const char *name)
{
	char path[256];

	path_of(path, sizeof(path), name);
	if (mkdir(path, 0700))
		exit(99);
}

static void check_file(int root_fd, const char *path, const char *want)
{
	struct root_file file = { .fd = -1 };
	char buffer[64] = "";
	bool found = root_file_open(root_fd, path, &file);

	if (found)
		check_u64((uint64_t)pread(file.fd, buffer, sizeof(buffer) - 1, 0),
			  file.size_bytes, path);
	if (want)
		check_string(buffer, want, path);
	else
		check(!found, "%s is refused", path);
	root_file_close(&file);
}

/* How often NAME was opened since WATCH was made for it. O_PATH does not count: inotify(7). */
static unsigned count_opens(int watch)
{
	struct inotify_event events[16];
	ssize_t got = read(watch, events, sizeof(events));

	return got > 0 ? (unsigned)((size_t)got / sizeof(events[0])) : 0;
}

static int watch_opens(const char *name)
{
	char path[256];
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	path_of(path, sizeof(path), name);
	if (watch < 0 || inotify_add_watch(watch, path, IN_OPEN) < 0)
		exit(99);
	return watch;
}

static void test_specials(int root_fd)
{
	char path[256];
	int watch;

	path_of(path, sizeof(path), "root/fifo");
	if (mkfifo(path, 0600))
		exit(99);
	watch = watch_opens("root/fifo");
	make_link("root/to-fifo", "bin/../fifo");
	check_file(root_fd, "/fifo", NULL);
	check_file(root_fd, "/to-fifo", NULL);
	check_u64(count_opens(watch), 0, "a FIFO is never opened");
	close(watch);
	path_of(path, sizeof(path), "root/device");
	if (mknod(path, S_IFCHR | 0600, 1 << 8 | 3) == 0) { /* needs root */
		watch = watch_opens("root/device");
		check_file(root_fd, "/device", NULL);
		check_u64(count_opens(watch), 0, "a device is never opened");
		close(watch);
	}
	watch = watch_opens("root/bin/true");
	check_file(root_fd, "/bin/true", "inside");
	check_u64(count_opens(watch), 1, "a regular file is opened once");
	close(watch);
}

static void test_links(int root_fd)
{
	char name[64], target[64];

	make_link("root/dir", "/./bin//");
	make_link("root/bin/self", "../bin/true");
	make_link("root/bin/rooted", "/bin/true");
	make_link("root/magic", "/proc/self/root/bin/true");
	make_link("root/chain0", "bin/true");
	for (int i = 1; i <= 41; i++) {
		snprintf(name, sizeof(name), "root/chain%d", i);
		snprintf(target, sizeof(target), "chain%d", i - 1);
		make_link(name, target);
	}
	check_file(root_fd, "/dir/true", "inside");
	check_file(root_fd, "/dir/self", "inside");
	check_file(root_fd, "//dir/./../dir/rooted", "inside");
	check_file(root_fd, "/magic", NULL);
	check_file(root_fd, "/chain39", "inside");
	check_file(root_fd, "/chain41", NULL);
	check_file(root_fd, "/bin/true/", NULL);
	check_file(root_fd, "/bin/true/..", NULL);
	check_file(root_fd, "/dir/../../../../secret", NULL);
}

/* Paths that are too long, too deep, or too long once a link has been followed. */
static void test_long(int root_fd)
{
	static char path[3 * PATH_MAX];
	size_t n = 0;

	while (n < PATH_MAX)
		n += (size_t)sprintf(path + n, "/./bin/..");
	check_file(root_fd, path, NULL);
	path[n = PATH_MAX / 2 / 9 * 9] = '\0';
	sprintf(path + n, "/bin/true");
	check_file(root_fd, path, "inside");
	memset(path, 'x', 300);
	path[300] = '\0';
	check_file(root_fd, path, NULL);
}

int main(void)
{
	int root_fd;
	char path[256], command[64];

	if (!mkdtemp(directory))
		return 99;
	make_directory("root");
	make_directory("root/bin");
	write_file("root/bin/true", "inside");
	write_file("secret", "outside");
	make_link("root/absolute", "/bin/true");
	make_link("root/up", "../secret");
	make_link("root/out", "/secret");
	make_link("root/parent", "..");
	make_link("root/loop", "loop");
	path_of(path, sizeof(path), "root");
	root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	check_file(root_fd, "/bin/true", "inside");
	check_file(root_fd, "/absolute", "inside");
	check_file(root_fd, "/../bin/../bin/true", "inside");
	check_file(root_fd, "/../secret", NULL);
	check_file(root_fd, "/up", NULL);
	check_file(root_fd, "/out", NULL);
	check_file(root_fd, "/parent/secret", NULL);
	check_file(root_fd, "/loop", NULL);
	check_file(root_fd, "/bin", NULL);
	check_file(root_fd, "/none", NULL);
	check_file(root_fd, "", NULL);
	check_file(-1, "/bin/true", NULL);
	test_specials(root_fd);
	test_links(root_fd);
	test_long(root_fd);
	close(root_fd);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	if (system(command))
		return 99;
	return tap_done();
}
