/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that are loaded when they are needed, and the functions that are called there. `make
 * static` links library_static.c in the place of library.c: its program has some of these libraries
 * inside, and loads none. Any thread.
 */
#ifndef XTOP_LIBRARY_H
#define XTOP_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_function {
	const char *name;
	void *pointer; /* the variable that gets the function's address */
};

/*
 * Loads the library NAME (libcurl.so.4) for the rest of the process's life, and stores the
 * addresses of N functions. False: the library or one of the functions is not there.
 */
bool library_load(const char *name, const struct library_function *functions, size_t n);

/*
 * Sets a locale of UTF-8 for characters: the C library's C.UTF-8, or the one inside the program of
 * `make static`. False: there is none. Before other threads start.
 */
bool library_set_utf8(void);

/*
 * Sets *PATHP to the path of FILE, one of --example's files: the installed one, or a descriptor,
 * which stays open, with the copy that the program of `make static` has. The caller frees it. There
 * may be no file of that path; NULL: out of memory.
 */
void library_find_example(const char *file, char **pathp);

/* Lines for --version: the libraries inside the program of `make static`, or "". */
extern const char library_parts[];

#endif
