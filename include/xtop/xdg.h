/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a user's files lie (XDG Base Directory Specification 0.8). Main's thread, at start. */
#ifndef XTOP_XDG_H
#define XTOP_XDG_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/*
 * FOLDER, absolute, and what is missing above it are made, for us alone, and not in a folder of
 * somebody else than root: sudo may have kept the HOME of who called it. False: it is below one.
 */
static inline bool xdg_make_folder(const char *folder)
{
	const char *end = folder;
	char path[PATH_MAX];
	struct stat status;

	do {
		end = strchrnul(end + 1, '/');
		snprintf(path, sizeof(path), "%.*s", (int)(end - folder), folder);
		(void)!mkdir(path, 0700); /* that it is there already shows below */
		if (lstat(path, &status) || (status.st_uid && status.st_uid != geteuid()))
			return false;
	} while (*end);
	return true;
}

#endif
