/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs and libraries of this machine, for tests that compare all of their code. */
#ifndef TESTS_PROGRAM_FILES_H
#define TESTS_PROGRAM_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/elf/elf.h"

/*
 * Calls COMPARE with the path of each file that this process maps and that is WANTED, whatever the
 * system calls its folder. Returns how many there are.
 */
static inline unsigned with_mapped_files(bool (*wanted)(const char *path),
					 void (*compare)(const char *path))
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], last[4096] = "", path[4096];
	unsigned n = 0;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%*s %*s %*s %*s %*s %4095[^\n]", path) != 1 || *path != '/' ||
		    strcmp(path, last) == 0 || !wanted(path))
			continue;
		strcpy(last, path);
		compare(path);
		n++;
	}
	if (maps)
		fclose(maps);
	return n;
}

static inline bool program_file_is_libc(const char *path)
{
	return strstr(path, "/libc.so");
}

/* Calls COMPARE with the path of this process's libc, if it has one. */
static inline void with_libc_file(void (*compare)(const char *path))
{
	with_mapped_files(program_file_is_libc, compare);
}

/* Calls COMPARE with each path in the environment's VARIABLE, which has : between them. */
static inline void with_named_files(const char *variable, void (*compare)(const char *path))
{
	const char *named = getenv(variable);
	char *files = strdup(named ? named : "");

	for (char *at = strtok(files, ":"); at; at = strtok(NULL, ":"))
		compare(at);
	free(files);
}

/* Reads code at ADDRESS in the image of FILE. Returns how many bytes could be read. */
static inline size_t read_file_code(struct elf_file *file, uint64_t address, void *buffer,
				    size_t size_bytes)
{
	uint64_t offset, left_bytes;

	if (!elf_find_offset(file, address, &offset, &left_bytes))
		return 0;
	return elf_read(file, offset, buffer, size_bytes < left_bytes ? size_bytes : left_bytes);
}

#endif
