/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of source files: where they are looked for, lines, and text that is not clean. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source_files.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

static char directory[] = "/tmp/xtop-source-XXXXXX";

static void write_file(const char *name, const char *text, size_t size)
{
	FILE *file = fopen(name, "w");

	if (!file || fwrite(text, 1, size, file) != size || fclose(file))
		exit(99);
}

static void check_line(struct source_files *files, const char *path, uint32_t line,
		       const char *want)
{
	char text[80] = "untouched";
	size_t length = source_files_get_line(files, path, line, text, sizeof(text));

	check(length == strlen(text), "%s:%u: length %zu", path, line, length);
	check_string(text, want, path);
}

int main(void)
{
	static const char hostile[] = "one\n\t  int two;\tthree;;\r\n\33[2Jfour\xff;\n\nlast";
	static char large[SOURCE_MAX_BYTES + 1];
	struct source_files *files;
	int folder, root;

	if (!mkdtemp(directory) || chdir(directory) || mkdir("src", 0755) || mkdir("src/net", 0755) ||
	    mkdir("root", 0755) || mkdir("root/build", 0755))
		return 99;
	write_file("src/net/a.c", hostile, sizeof(hostile) - 1);
	write_file("src/a.c", "another\n", 8);
	write_file("root/build/b.c", "in root\n", 8);
	write_file("secret", "secret\n", 7);
	memset(large, '\n', sizeof(large));
	write_file("src/large.c", large, sizeof(large));
	write_file("src/fits.c", large, sizeof(large) - 1);
	write_file("src/empty.c", "", 0);
	if (symlink("../secret", "src/link.c"))
		return 99;
	folder = open("src", O_PATH | O_DIRECTORY);
	root = open("root", O_PATH | O_DIRECTORY);
	must(source_files_create(&folder, 1, root, &files));
	close(folder);
	close(root);

	check_line(files, "/build/linux-6.1/net/a.c", 1, "one");
	check_line(files, "/build/linux-6.1/net/a.c", 2, "int two; three;;");
	check_line(files, "/build/linux-6.1/net/a.c", 3, "_[2Jfour_;");
	check_line(files, "/build/linux-6.1/net/a.c", 4, "");
	check_line(files, "/build/linux-6.1/net/a.c", 5, "last");
	check_line(files, "/build/linux-6.1/net/a.c", 6, "");
	check_line(files, "/build/linux-6.1/net/a.c", 0, "");
	check_line(files, "./net/a.c", 1, "one");
	check_line(files, "lib/a.c", 1, "another");
	check_line(files, "/build/b.c", 1, "in root");
	check_line(files, "/elsewhere/build/b.c", 1, "");
	check_line(files, "../secret", 1, "");
	check_line(files, "/x/../../secret", 1, "");
	check_line(files, "link.c", 1, "");
	check_line(files, "large.c", 1, "");
	check_line(files, "fits.c", 1, "");
	check_line(files, "empty.c", 1, "");
	check_line(files, "", 1, "");
	for (int i = 0; i < 2 * (int)SOURCE_MAX_FILES; i++) {
		char path[32], text[8];

		snprintf(path, sizeof(path), "/%d/net/a.c", i);
		if (source_files_get_line(files, path, 1, text, sizeof(text)) != 3)
			exit(99);
	}
	check_line(files, "./net/a.c", 1, "one");
	source_files_destroy(files);
	source_files_destroy(NULL);
	if (chdir("/"))
		return 99;
	{
		char command[64];

		snprintf(command, sizeof(command), "rm -r %s", directory);
		check(system(command) == 0, "the folder is removed");
	}
	return tap_done();
}
