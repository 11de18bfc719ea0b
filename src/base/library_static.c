/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The libraries that are linked into the program of `make static`; see library.h. The others, which
 * talk to servers (libcurl, libmicrohttpd, libdebuginfod), are not there: Debian has no static
 * archives of what they need.
 */
#include "config.h"

#include <dlfcn.h>
#include <limits.h>
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

/* The files of doc/example (static/examples.c); the last entry has no name. */
struct library_file {
	const char *name, *bytes, *end;
};
extern const struct library_file library_examples[];

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

/* --- the examples ----------------------------------------------------------------------------- */

/* Returns a descriptor of a file in memory with these BYTES; -1 without one. */
static int library_open_copy(const char *bytes, size_t n)
{
	int fd = memfd_create("example", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, bytes, n) != (ssize_t)n) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The example FILE in the program's archive or where its script installs it: beside the program. */
static bool library_find_beside(const char *file, char **pathp)
{
	static const char *const folders[] = { "example", "../share/xtop/example" };
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (n < 0)
		return false;
	program[n] = '\0';
	*strrchr(program, '/') = '\0';
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		if (asprintf(pathp, "%s/%s/%s", program, folders[i], file) < 0)
			return false;
		if (access(*pathp, R_OK) == 0)
			return true;
		free(*pathp);
	}
	return false;
}

void library_find_example(const char *file, char **pathp)
{
	int fd = -1;

	for (const struct library_file *inside = library_examples; inside->name; inside++)
		if (strcmp(inside->name, file) == 0)
			fd = library_open_copy(inside->bytes,
					       (size_t)(inside->end - inside->bytes));
	if (fd < 0 && library_find_beside(file, pathp))
		return;
	if (asprintf(pathp, "/proc/self/fd/%d", fd) < 0) /* -1: no such file */
		*pathp = NULL;
}
