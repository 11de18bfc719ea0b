/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folders of a user's files (XDG Base Directory Specification 0.8). Main's thread, at start. */
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
 * Writes to FOLDER xtop's folder below the path in the environment's VARIABLE. Without VARIABLE, it
 * is below HOME/BELOW_HOME. A relative path counts as not set. False: neither is set, or the path
 * is too long.
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
 * Makes FOLDER, an absolute path, and the missing folders above it, with mode 0700. False: one of
 * them belongs neither to root nor to this user. This happens when sudo keeps the HOME of its
 * caller.
 */
static inline bool xdg_make_folder(const char *folder)
{
	const char *end = folder;
	char path[PATH_MAX];
	struct stat status;

	do {
		end = strchrnul(end + 1, '/');
		snprintf(path, sizeof(path), "%.*s", (int)(end - folder), folder);
		(void)!mkdir(path, 0700); /* lstat() below tells whether the folder is there */
		if (lstat(path, &status) || (status.st_uid && status.st_uid != geteuid()))
			return false;
	} while (*end);
	return true;
}

#endif
