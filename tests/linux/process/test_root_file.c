/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below --root DIR. No path and no link leads out of DIR. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/process/root_file.h"
#include "tests/support/needs.h"
#include "tests/support/tap.h"
#include "xtop/cleanup.h"

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

int main(void)
{
	int root_fd;
	char path[256], command[64];

	needs_call_or_skip(SYS_openat2, "openat2");
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
	path_of(path, sizeof(path), "root/fifo");
	if (mkfifo(path, 0600))
		return 99;
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
	check_file(root_fd, "/fifo", NULL);
	check_file(root_fd, "/none", NULL);
	check_file(root_fd, "", NULL);
	check_file(-1, "/bin/true", NULL);
	close(root_fd);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	if (system(command))
		return 99;
	return tap_done();
}
