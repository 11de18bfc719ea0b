/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other processes: which ones a process has started, and signals for one. */
#ifndef TESTS_CHILDREN_H
#define TESTS_CHILDREN_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

/* As kill(2), of one process: "process 0" would be the whole process group, all of `make check`. */
static inline int kill_process(pid_t pid, int signal_number)
{
	if (pid <= 0)
		abort();
	return kill(pid, signal_number);
}

#endif
