/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text of source files: where they are looked for, lines, and text that is not clean. Nobody waits
 * for a file that comes late, as from a server.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "supervise/fetcher.h"
#include "tests/support/fetched_file.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/lines/source_cache.h"

static char directory[] = "/tmp/xtop-source-XXXXXX";

static void write_file(const char *name, const char *text, size_t size)
{
	FILE *file = fopen(name, "w");

	if (!file || fwrite(text, 1, size, file) != size || fclose(file))
		exit(99);
}

static const struct build_id no_build;

/* As source_cache_get_line(), but waits. */
static size_t get_line(struct source_cache *files, const struct build_id *build, const char *path,
		       uint32_t line, char *text, size_t capacity)
{
	source_cache_get_line(files, build, path, line, text, capacity);
	source_cache_wait(files, 20);
	return source_cache_get_line(files, build, path, line, text, capacity);
}

static void check_line(struct source_cache *files, const char *path, uint32_t line,
		       const char *want)
{
	char text[80] = "untouched";
	size_t length = get_line(files, &no_build, path, line, text, sizeof(text));

	check(length == strlen(text), "%s:%u: length %zu", path, line, length);
	check_string(text, want, path);
}

/* --- files of a server ------------------------------------------------------------------------ */

#define SERVER_MS 300

/* A server that takes its time. It has "/fetched.c" of build 7. */
static int find_slowly(const uint8_t *build_id, size_t size_bytes, const char *source,
		       char message[96])
{
	const struct timespec nap = { .tv_nsec = SERVER_MS * 1000000L };

	(void)size_bytes, (void)message;
	nanosleep(&nap, NULL);
	if (build_id[0] != 7 || strcmp(source, "/fetched.c") != 0)
		return -1;
	return fetched_file_make("first\n\tsecond();\n", 17);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void test_server(void)
{
	const struct fetcher_settings settings = { .find = find_slowly, .cache = directory };
	const struct build_id seven = { 20, { 7 }, 0 }, eight = { 20, { 8 }, 0 };
	struct source_cache *files;
	struct fetch *fetch;
	uint64_t before_ms, took_ms = 0;
	unsigned questions = 0;
	char text[80] = "";

	must(fetch_start_with(&settings, &fetch));
	must(source_cache_create(NULL, 0, -1, fetch, &files));
	while (!source_cache_get_line(files, &seven, "/fetched.c", 2, text, sizeof(text)) &&
	       questions < 100000) {
		const struct timespec nap = { .tv_nsec = 1000000 };

		before_ms = now_ms();
		source_cache_get_line(files, &eight, "/fetched.c", 2, text, sizeof(text));
		took_ms = now_ms() - before_ms > took_ms ? now_ms() - before_ms : took_ms;
		questions++;
		nanosleep(&nap, NULL);
	}
	check_string(text, "second();", "a line from a server");
	check(questions > 10, "who asks went on meanwhile: %u questions", questions);
	check(took_ms < SERVER_MS, "none of them waited for the server: at most %u ms",
	      (unsigned)took_ms);
	check(source_cache_poll(files), "a file has come");
	get_line(files, &eight, "/fetched.c", 2, text, sizeof(text));
	check_string(text, "", "the same path of another program is another file");
	get_line(files, &seven, "fetched.c", 2, text, sizeof(text));
	check_string(text, "", "a relative path is not asked for");
	source_cache_poll(files);
	check(!source_cache_poll(files), "nothing new has come");
	source_cache_get_line(files, &seven, "/another.c", 1, text, sizeof(text));
	source_cache_destroy(files);
	fetch_stop(fetch);
}

int main(void)
{
	static const char hostile[] = "one\n\t  int two;\tthree;;\r\n\33[2Jfour\xff;\n\nlast";
	static char large[SOURCE_MAX_BYTES + 1];
	struct source_cache *files;
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
	must(source_cache_create(&folder, 1, root, NULL, &files));
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
		if (get_line(files, &no_build, path, 1, text, sizeof(text)) != 3)
			exit(99);
	}
	check_line(files, "./net/a.c", 1, "one");
	source_cache_destroy(files);
	source_cache_destroy(NULL);
	test_server();
	if (chdir("/"))
		return 99;
	{
		char command[64];

		snprintf(command, sizeof(command), "rm -r %s", directory);
		check(system(command) == 0, "the folder is removed");
	}
	return tap_done();
}
