// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of glibc that Debian's libraries want, and musl does not have: tests/musl links this
 * file with each program. Nearly all are what glibc's headers make of an ordinary function under
 * _FORTIFY_SOURCE, with the size of the buffer (LSB 5.0, libc). The buffer is not checked here.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__memcpy_chk(void *to, const void *from, size_t n, size_t size)
{
	(void)size;
	return memcpy(to, from, n);
}

char *__stpcpy_chk(char *to, const char *from, size_t size)
{
	(void)size;
	return stpcpy(to, from);
}

char *__strcat_chk(char *to, const char *from, size_t size)
{
	(void)size;
	return strcat(to, from);
}

char *__strcpy_chk(char *to, const char *from, size_t size)
{
	(void)size;
	return strcpy(to, from);
}

char *__strncpy_chk(char *to, const char *from, size_t n, size_t size)
{
	(void)size;
	return strncpy(to, from, n);
}

char *__realpath_chk(const char *path, char *resolved, size_t size)
{
	(void)size;
	return realpath(path, resolved);
}

int __vfprintf_chk(FILE *file, int flag, const char *format, va_list list)
{
	(void)flag;
	return vfprintf(file, format, list);
}

int __vsnprintf_chk(char *to, size_t n, int flag, size_t size, const char *format, va_list list)
{
	(void)flag;
	(void)size;
	return vsnprintf(to, n, format, list);
}

int __vsprintf_chk(char *to, int flag, size_t size, const char *format, va_list list)
{
	(void)flag;
	(void)size;
	return vsprintf(to, format, list);
}

/* The value of a call with the arguments after LAST. */
#define WITH_ARGUMENTS(last, call)  \
	({                          \
		va_list list;       \
		int result;         \
		va_start(list, last); \
		result = call;      \
		va_end(list);       \
		result;             \
	})

int __printf_chk(int flag, const char *format, ...)
{
	(void)flag;
	return WITH_ARGUMENTS(format, vprintf(format, list));
}

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
	(void)flag;
	return WITH_ARGUMENTS(format, vfprintf(file, format, list));
}

int __snprintf_chk(char *to, size_t n, int flag, size_t size, const char *format, ...)
{
	(void)flag;
	(void)size;
	return WITH_ARGUMENTS(format, vsnprintf(to, n, format, list));
}

int __sprintf_chk(char *to, int flag, size_t size, const char *format, ...)
{
	(void)flag;
	(void)size;
	return WITH_ARGUMENTS(format, vsprintf(to, format, list));
}

int __asprintf_chk(char **to, int flag, const char *format, ...)
{
	(void)flag;
	return WITH_ARGUMENTS(format, vasprintf(to, format, list));
}

void *rawmemchr(const void *bytes, int c)
{
	return memchr(bytes, c, PTRDIFF_MAX);
}

/* What libdw's parser of command lines calls. xtop does not call that parser. */
void error(void)
{
	abort();
}

void argp_error(void)
{
	abort();
}

void argp_failure(void)
{
	abort();
}
