/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of --config; see options_file.h. A line "name = value" becomes "--name=value" in place:
 * the text is read to an offset that leaves room for the two dashes of every line.
 */
#include "config.h"

#include "xtop/cli/options_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "xtop/base/cleanup.h"

#define OPTIONS_FILE_BLANKS " \t\r"

void options_file_deinit(struct options_file *file)
{
	free(file->text);
	free(file->lines);
	*file = (struct options_file){ .n = 0 };
}

/* Cuts the blanks off both ends of the text from FROM to END. Returns where the rest begins. */
static char *options_file_trim(char *from, char *end)
{
	while (end > from && strchr(OPTIONS_FILE_BLANKS, end[-1]))
		end--;
	*end = '\0';
	return from + strspn(from, OPTIONS_FILE_BLANKS);
}

/* Writes the option of LINE to TO, which has room for two bytes more than LINE. */
static struct xtop_error *options_file_parse(char *line, char *to)
{
	size_t length = strcspn(line, "=" OPTIONS_FILE_BLANKS);
	char *value = line + length + strspn(line + length, OPTIONS_FILE_BLANKS);

	if (!length || line[0] == '-')
		return error_create("a line is NAME or NAME = VALUE, without dashes");
	if (length == strlen("config") && strncmp(line, "config", length) == 0)
		return error_create("config is not for a file: it names the file");
	if (*value && *value != '=')
		return error_create("'%.*s' is followed by no '='", (int)length, line);
	if (*value)
		value = options_file_trim(value + 1, value + strlen(value));
	snprintf(to, length + 3, "--%s", line);
	if (line[length] || *value) {
		to[length + 2] = '=';
		memmove(to + length + 3, value, strlen(value) + 1);
	}
	return NULL;
}

static struct xtop_error *options_file_split(struct options_file *file, const char *text)
{
	char *to = file->text;
	unsigned number = 0;

	for (const char *at = text; *at && file->n < OPTIONS_FILE_MAX_LINES;) {
		size_t length = strcspn(at, "\n");
		_cleanup_free_ char *copy = strndup(at, length);
		struct xtop_error *error;
		char *line;

		number++;
		at += length + (at[length] == '\n');
		if (!copy)
			return error_create("out of memory");
		line = options_file_trim(copy, copy + length);
		if (!*line || *line == '#')
			continue;
		error = options_file_parse(line, to);
		if (error)
			return error_wrap(error, "line %u", number);
		file->lines[file->n++] = (struct options_line){ to, number };
		to += strlen(to) + 1;
	}
	return file->n < OPTIONS_FILE_MAX_LINES
		       ? NULL
		       : error_create("at most %d options", OPTIONS_FILE_MAX_LINES - 1);
}

static struct xtop_error *options_file_load(const char *path, char **textp, size_t *bytesp)
{
	_cleanup_fclose_ FILE *stream = fopen(path, "re");
	struct stat status;
	char *text;

	if (!stream || fstat(fileno(stream), &status) < 0)
		return error_create_errno(errno, "cannot read it");
	if (!S_ISREG(status.st_mode) || status.st_size > OPTIONS_FILE_MAX_BYTES)
		return error_create("it is no file of lines NAME = VALUE");
	text = calloc(1, OPTIONS_FILE_MAX_BYTES + 1);
	if (!text)
		return error_create("out of memory");
	*bytesp = fread(text, 1, OPTIONS_FILE_MAX_BYTES, stream);
	*textp = text;
	return strlen(text) == *bytesp ? NULL : error_create("it has a byte of 0");
}

struct xtop_error *options_file_read(const char *path, struct options_file *file)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes = 0;
	struct xtop_error *error = options_file_load(path, &text, &bytes);

	if (!error) {
		/* An option has three bytes more than its line: two dashes and a NUL. */
		file->text = malloc(bytes + 3 * OPTIONS_FILE_MAX_LINES);
		file->lines = calloc(OPTIONS_FILE_MAX_LINES, sizeof(*file->lines));
		error = file->text && file->lines ? options_file_split(file, text)
						  : error_create("out of memory");
	}
	return error_wrap(error, "--config=%s", path);
}
