/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of the shell that a test needs. The test ends if one fails. */
#ifndef TESTS_SHELL_H
#define TESTS_SHELL_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static inline void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline void shell(const char *format, ...)
{
	char command[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	if (system(command))
		exit(99);
}

#endif
