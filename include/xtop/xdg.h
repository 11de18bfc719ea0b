/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a user's files lie (XDG Base Directory Specification 0.8). Main's thread, at start. */
#ifndef XTOP_XDG_H
#define XTOP_XDG_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * xtop's folder below what the environment's VARIABLE names, or BELOW_HOME of HOME without that. What
 * is no absolute path does not count. False: nowhere, or too long.
 */
static inline bool xdg_folder(const char *variable, const char *below_home, char *folder,
			      size_t capacity)
{
	const char *base = getenv(variable), *home = getenv("HOME");
	int n;

	if (base && base[0] == '/')
		n = snprintf(folder, capacity, "%s/xtop", base);
	else if (home && home[0] == '/')
		n = snprintf(folder, capacity, "%s/%s/xtop", home, below_home);
	else
		return false;
	return n > 0 && (size_t)n < capacity;
}

#endif
