/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: limits on paths, where the kernel has Landlock (Linux 5.13). */
#ifndef SUPERVISE_LANDLOCK_H
#define SUPERVISE_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "xtop/base/error.h"

/* What a process may still do. Paths that do not exist are left out. */
struct landlock_rights {
	const char *const *paths; /* folders that the process may read */
	size_t n_paths;
	const int *folders; /* descriptors of more such folders; -1: none */
	size_t n_folders;
	bool writes; /* the process may write to `folder` and everything below */
	int folder;
	bool connects; /* the process may connect to TCP servers */
};

/*
 * From now on this process has no other rights of files. It cannot trace any process any more, nor
 * open its /proc/PID/mem, whoever owns the process. From Linux 6.7 on it cannot listen at a TCP
 * port, and from 6.12 on it reaches no other process by signals and no abstract local socket. Call
 * this function after no_new_privs is set. Without Landlock nothing happens, which is no error.
 */
struct xtop_error *landlock_enter(const struct landlock_rights *rights);

/* False: the kernel is older than 5.13, or has Landlock off (lsm=). Then nothing is limited. */
bool landlock_is_there(void);

#endif
