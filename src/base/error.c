/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors as values; see error.h. Any thread. */
#include "config.h"

#include "xtop/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/text.h"
#include "xtop/base/utf8.h"

struct xtop_error {
	char *message;
};

static struct xtop_error error_no_memory = { .message = (char *)"out of memory" };

/*
 * Part of MESSAGE may come from a guest or a recording. Invisible characters, line ends among them,
 * and bytes that are not UTF-8 become '?', so that the message is one line.
 */
static void error_clean(char *message)
{
	char *to = message;

	for (const char *from = message, *end = message + strlen(message); from < end;) {
		uint32_t character = 0;
		size_t length = utf8_decode(from, (size_t)(end - from), &character);

		if (length == 0 || text_is_invisible(character)) {
			*to++ = '?';
			from += length ? length : 1;
			continue;
		}
		memmove(to, from, length);
		to += length;
		from += length;
	}
	*to = '\0';
}

static struct xtop_error *error_from(char *message)
{
	struct xtop_error *error;

	if (!message)
		return &error_no_memory;
	error_clean(message);
	error = malloc(sizeof(*error));
	if (!error) {
		free(message);
		return &error_no_memory;
	}
	error->message = message;
	return error;
}

static char *error_format(const char *format, va_list arguments)
{
	char *message;

	return vasprintf(&message, format, arguments) < 0 ? NULL : message;
}

/* Returns "HEAD: TAIL", or NULL if memory is out. Frees HEAD. */
static char *error_join(char *head, const char *tail)
{
	char *message;

	if (!head || asprintf(&message, "%s: %s", head, tail) < 0)
		message = NULL;
	free(head);
	return message;
}

struct xtop_error *error_create(const char *format, ...)
{
	va_list arguments;
	char *message;

	va_start(arguments, format);
	message = error_format(format, arguments);
	va_end(arguments);
	return error_from(message);
}

struct xtop_error *error_create_errno(int errno_value, const char *format, ...)
{
	va_list arguments;
	char *message;

	va_start(arguments, format);
	message = error_format(format, arguments);
	va_end(arguments);
	return error_from(error_join(message, strerror(errno_value)));
}

struct xtop_error *error_wrap(struct xtop_error *error, const char *format, ...)
{
	va_list arguments;
	char *message;

	if (!error)
		return NULL;
	va_start(arguments, format);
	message = error_format(format, arguments);
	va_end(arguments);
	message = error_join(message, error->message);
	if (!message) /* no memory: the old message says more than "out of memory" would */
		return error;
	error_destroy(error);
	return error_from(message);
}

const char *error_message(const struct xtop_error *error)
{
	return error->message;
}

void error_destroy(struct xtop_error *error)
{
	if (!error || error == &error_no_memory)
		return;
	free(error->message);
	free(error);
}

struct xtop_error *error_first(struct xtop_error *first, struct xtop_error *second)
{
	if (!first)
		return second;
	error_destroy(second);
	return first;
}
