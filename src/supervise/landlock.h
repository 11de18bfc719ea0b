/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: the wall around paths, where the kernel has Landlock (Linux 5.13). */
#ifndef SUPERVISE_LANDLOCK_H
#define SUPERVISE_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "xtop/base/error.h"

/*
 * From now on this process opens files for reading only, and only below the N paths PATHS, those of
 * which do not exist being left out, and below the N_FOLDERS FOLDERS (-1: none). It cannot trace
 * processes any more, nor open their /proc/PID/mem, whoever they belong to. Call it after
 * no_new_privs is set. Without Landlock nothing happens, and that is no error.
 */
struct xtop_error *landlock_enter(const char *const *paths, size_t n, const int *folders,
				  size_t n_folders);
/* The same, but below FOLDER (-1: none) everything is allowed. */
struct xtop_error *landlock_enter_to_write(const char *const *paths, size_t n, int folder);

/* False: the kernel is older than 5.13, or does not use it (lsm=). Nothing is limited then. */
bool landlock_is_there(void);

#endif
