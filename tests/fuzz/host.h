/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dom0's files, for the fuzzer that includes this: a folder that is removed when the fuzzer ends. */
#ifndef FUZZ_HOST_H
#define FUZZ_HOST_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static char host_folder[32]; /* empty: not made yet */

static int host_remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status, (void)kind, (void)at;
	return remove(path);
}

static void host_remove(void)
{
	nftw(host_folder, host_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void host_make(void)
{
	strcpy(host_folder, "/tmp/xtop-fuzz-XXXXXX");
	fuzz_must(mkdtemp(host_folder) != NULL, "dom0 has a folder");
	atexit(host_remove);
}

/* The path of NAME ("/folder/file") on dom0, with the folders that lead there. */
static const char *host_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s%s", host_folder, name);
	for (char *slash = path + strlen(host_folder); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	return path;
}

#endif
