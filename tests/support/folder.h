/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <dirent.h>

/* How many files and folders PATH has, without those whose names begin with a dot. */
static inline unsigned count_files(const char *path)
{
	DIR *stream = opendir(path);
	struct dirent *entry;
	unsigned n = 0;

	while (stream && (entry = readdir(stream)))
		n += entry->d_name[0] != '.';
	if (stream)
		closedir(stream);
	return n;
}

#endif
