/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The libraries that are linked into the program of `make static`; see library.h. The others, which
 * talk to servers (libcurl, libmicrohttpd, libdebuginfod), are not there: Debian has no static
 * archives of what they need.
 */
#include "config.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/library.h"

#define LOCALE_PATH_BYTES 64

/* Debian's file of the locale C.UTF-8 (static/locale.S). */
extern const char library_locale[], library_locale_end[];

/* doc/example.pb.gz (static/example.S). */
extern const char library_example_file[], library_example_file_end[];

/*
 * For libdw, which loads libdebuginfod when the program starts. A library of the system would bring
 * a second C library with it.
 */
void *dlopen(const char *name, int flags)
{
	(void)name;
	(void)flags;
	return NULL;
}

/* Only addresses are taken here. Callers have the types from the libraries' headers. */
#define LINKED_FUNCTIONS(F)                                                                        \
	F(xs_open)                                                                                 \
	F(xs_read)                                                                                 \
	F(xs_close)                                                                                \
	F(cs_open)                                                                                 \
	F(cs_disasm_iter)                                                                          \
	F(cs_close)

#define LINKED_DECLARE(name) extern void name(void);
LINKED_FUNCTIONS(LINKED_DECLARE)
#undef LINKED_DECLARE

#define LINKED_ENTRY(name) { #name, name },
static const struct {
	const char *name;
	void *function;
} linked[] = { LINKED_FUNCTIONS(LINKED_ENTRY) };
#undef LINKED_ENTRY

static void *library_find(const char *name)
{
	for (size_t i = 0; i < sizeof(linked) / sizeof(linked[0]); i++)
		if (!strcmp(linked[i].name, name))
			return linked[i].function;
	return NULL;
}

bool library_load(const char *name, const struct library_function *functions, size_t n)
{
	(void)name;
	for (size_t i = 0; i < n; i++) {
		void *function = library_find(functions[i].name);

		if (!function)
			return false;
		*(void **)functions[i].pointer = function;
	}
	return true;
}

/* --- a locale --------------------------------------------------------------------------------- */

static bool library_write_locale(const char *path)
{
	const size_t bytes = (size_t)(library_locale_end - library_locale);
	FILE *file = fopen(path, "wxe");
	bool written = file && fwrite(library_locale, 1, bytes, file) == bytes;

	return file && !fclose(file) && written;
}

/* glibc reads locales from files alone, and keeps what it has read when they are removed. */
static bool library_read_locale(const char *folder)
{
	char locale[LOCALE_PATH_BYTES], file[LOCALE_PATH_BYTES + sizeof("/LC_CTYPE")];
	bool set;

	snprintf(locale, sizeof(locale), "%s/C.utf8", folder);
	snprintf(file, sizeof(file), "%s/LC_CTYPE", locale);
	set = !mkdir(locale, 0700) && library_write_locale(file) && !setenv("LOCPATH", folder, 1) &&
	      setlocale(LC_CTYPE, "C.UTF-8");
	unsetenv("LOCPATH");
	unlink(file);
	rmdir(locale);
	return set;
}

bool library_set_utf8(void)
{
	static const char *const places[] = { "/dev/shm/xtop-XXXXXX", "/tmp/xtop-XXXXXX" };
	bool set = setlocale(LC_CTYPE, "C.UTF-8");

	for (size_t i = 0; !set && i < sizeof(places) / sizeof(places[0]); i++) {
		char folder[LOCALE_PATH_BYTES / 2];

		snprintf(folder, sizeof(folder), "%s", places[i]);
		if (!mkdtemp(folder))
			continue;
		set = library_read_locale(folder);
		rmdir(folder);
	}
	return set;
}

/* --- the example ------------------------------------------------------------------------------ */

static bool library_write_example(int fd)
{
	const size_t bytes = (size_t)(library_example_file_end - library_example_file);

	return write(fd, library_example_file, bytes) == (ssize_t)bytes;
}

const char *library_example(void)
{
	static char path[32];
	int fd = memfd_create("example", MFD_CLOEXEC);

	if (fd >= 0 && !library_write_example(fd)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		return "the example in memory"; /* no such file */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}
