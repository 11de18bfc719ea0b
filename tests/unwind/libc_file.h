/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The libc that a test runs with. */
#ifndef TESTS_LIBC_FILE_H
#define TESTS_LIBC_FILE_H

#include <stdio.h>
#include <string.h>

/* Calls COMPARE with the path of this process's libc, if it has one. */
static inline void with_libc_file(void (*compare)(const char *path))
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], path[4096];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%*s %*s %*s %*s %*s %4095[^\n]", path) == 1 && *path == '/' &&
		    strstr(path, "/libc.so")) {
			compare(path);
			break;
		}
	if (maps)
		fclose(maps);
}

#endif
