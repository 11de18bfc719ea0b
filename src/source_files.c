/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of source files; see source_files.h. A file is read whole when one of its lines is asked
 * for first. Files that nobody has are remembered, too.
 */
#include "config.h"

#include "source_files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xtop/root_file.h"
#include "xtop/text.h"
#include "xtop/vector.h"

struct source_file {
	char *path;         /* as compiled; NULL: this place is free */
	char *bytes;        /* NULL: no such file was found */
	size_t size_bytes;
	uint32_t *lines;    /* the offset of each */
	size_t n_lines, capacity;
	uint64_t used;      /* number of the question that used it last */
};

struct source_files {
	int folders[SOURCE_MAX_FOLDERS];
	size_t n_folders;
	int root_fd;
	uint64_t n_questions;
	struct source_file files[SOURCE_MAX_FILES];
};

/* --- life ------------------------------------------------------------------------------------- */

struct xtop_error *source_files_create(const int *folders, size_t n, int root_fd,
				       struct source_files **filesp)
{
	struct source_files *files = calloc(1, sizeof(*files));
	bool failed = !files || n > SOURCE_MAX_FOLDERS;

	if (files)
		files->root_fd = root_fd < 0 ? -1 : fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	for (size_t i = 0; !failed && i < n; i++) {
		files->folders[i] = fcntl(folders[i], F_DUPFD_CLOEXEC, 0);
		failed = files->folders[i] < 0;
		files->n_folders += !failed;
	}
	if (failed || (root_fd >= 0 && files->root_fd < 0)) {
		source_files_destroy(files);
		return error_create("no memory or descriptors for source files");
	}
	*filesp = files;
	return NULL;
}

static void source_file_deinit(struct source_file *file)
{
	free(file->path);
	free(file->bytes);
	free(file->lines);
	*file = (struct source_file){ 0 };
}

void source_files_destroy(struct source_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < SOURCE_MAX_FILES; i++)
		source_file_deinit(&files->files[i]);
	for (size_t i = 0; i < files->n_folders; i++)
		close(files->folders[i]);
	if (files->root_fd >= 0)
		close(files->root_fd);
	free(files);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* PATH without its first name; NULL: it has one name only. */
static const char *source_path_end(const char *path)
{
	path += strspn(path, "/");
	path += strcspn(path, "/");
	path += strspn(path, "/");
	return *path ? path : NULL;
}

static bool source_open(const struct source_files *files, const char *path, struct root_file *file)
{
	if (root_file_open(files->root_fd, path, file))
		return true;
	for (size_t i = 0; i < files->n_folders; i++)
		for (const char *end = path; end; end = source_path_end(end))
			if (root_file_open(files->folders[i], end, file))
				return true;
	return false;
}

static bool source_find_lines(struct source_file *file)
{
	for (size_t at = 0; at < file->size_bytes;) {
		const char *end = memchr(file->bytes + at, '\n', file->size_bytes - at);

		if (!vector_reserve(file->lines, file->capacity, file->n_lines + 1))
			return false;
		file->lines[file->n_lines++] = (uint32_t)at;
		at = end ? (size_t)(end - file->bytes) + 1 : file->size_bytes;
	}
	return true;
}

/* Best effort: without memory the file is as good as missing. */
static void source_read(const struct source_files *files, struct source_file *file)
{
	struct root_file found;
	ssize_t got = -1;

	if (!source_open(files, file->path, &found))
		return;
	if (found.size_bytes <= SOURCE_MAX_BYTES)
		file->bytes = malloc(found.size_bytes + 1);
	if (file->bytes)
		got = pread(found.fd, file->bytes, found.size_bytes, 0);
	root_file_close(&found);
	file->size_bytes = got > 0 ? (size_t)got : 0;
	if (!source_find_lines(file))
		file->n_lines = 0;
}

/* A free place, or that of the file that was used longest ago. */
static struct source_file *source_make_place(struct source_files *files)
{
	struct source_file *oldest = &files->files[0];

	for (size_t i = 0; i < SOURCE_MAX_FILES; i++) {
		if (!files->files[i].path)
			return &files->files[i];
		if (files->files[i].used < oldest->used)
			oldest = &files->files[i];
	}
	source_file_deinit(oldest);
	return oldest;
}

/* NULL: out of memory. */
static struct source_file *source_find_or_add(struct source_files *files, const char *path)
{
	struct source_file *file;

	for (size_t i = 0; i < SOURCE_MAX_FILES; i++)
		if (files->files[i].path && !strcmp(files->files[i].path, path))
			return &files->files[i];
	file = source_make_place(files);
	file->path = strdup(path);
	if (!file->path)
		return NULL;
	source_read(files, file);
	return file;
}

/* Cleans the N bytes of a line. text_clean() would replace ';', which ends lines of C. */
static size_t source_clean(const char *line, size_t n, char *text, size_t capacity)
{
	size_t at = 0, used = 0;

	text[0] = '\0';
	while (at < n) {
		const char *end = memchr(line + at, ';', n - at);
		size_t length = end ? (size_t)(end - line) - at : n - at;

		used += text_clean(text + used, capacity - used, line + at, length);
		at += length;
		if (!end || capacity - used < 2)
			break;
		text[used++] = ';';
		text[used] = '\0';
		at++;
	}
	return used;
}

size_t source_files_get_line(struct source_files *files, const char *path, uint32_t line,
			     char *text, size_t capacity)
{
	struct source_file *file = source_find_or_add(files, path);
	char copy[512];
	size_t begin, n = 0;

	text[0] = '\0';
	if (!file)
		return 0;
	file->used = ++files->n_questions;
	if (!line || line > file->n_lines)
		return 0;
	begin = file->lines[line - 1];
	while (begin < file->size_bytes &&
	       (file->bytes[begin] == ' ' || file->bytes[begin] == '\t'))
		begin++;
	for (; begin + n < file->size_bytes && n < sizeof(copy); n++) {
		char byte = file->bytes[begin + n];

		if (byte == '\n' || byte == '\r')
			break;
		copy[n] = byte == '\t' ? ' ' : byte;
	}
	return source_clean(copy, n, text, capacity);
}
