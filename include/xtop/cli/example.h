/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The profiles and recordings that --example opens. Main's thread, at the start. */
#ifndef XTOP_EXAMPLE_H
#define XTOP_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>

struct example {
	const char *name;     /* the word that --example takes */
	const char *file;     /* its file among those of library_find_example() */
	const char *baseline; /* an older file, to compare it with; NULL: none */
	bool crash;           /* the file is a recording of --crash */
};

/* Finds the example NAME. False: there is none, and *EXAMPLEP stays as it is. */
bool example_find(const char *name, const struct example **examplep);

#endif
