/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that a process has started. */
#ifndef TESTS_CHILDREN_H
#define TESTS_CHILDREN_H

#include <stdio.h>
#include <sys/types.h>

/* The first child of the process PARENT; 0: none. */
static inline pid_t child_of(pid_t parent)
{
	char path[64];
	pid_t child = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	file = fopen(path, "r");
	if (file && fscanf(file, "%d", &child) != 1)
		child = 0;
	if (file)
		fclose(file);
	return child;
}

#endif
