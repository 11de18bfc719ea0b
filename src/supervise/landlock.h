/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: limits on paths, where the kernel has Landlock (Linux 5.13). */
#ifndef SUPERVISE_LANDLOCK_H
#define SUPERVISE_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "xtop/base/error.h"

/*
 * From now on this process opens files for reading only, and only below the N paths PATHS and the
 * N_FOLDERS FOLDERS (-1: none). Paths that do not exist are left out. The process cannot trace any
 * process any more, nor open its /proc/PID/mem, whoever owns the process. Call this function after
 * no_new_privs is set. Without Landlock nothing happens, which is no error.
 */
struct xtop_error *landlock_enter(const char *const *paths, size_t n, const int *folders,
				  size_t n_folders);
/* Limits paths like landlock_enter(), but allows everything below FOLDER (-1: none). */
struct xtop_error *landlock_enter_to_write(const char *const *paths, size_t n, int folder);

/* False: the kernel is older than 5.13, or has Landlock off (lsm=). Then nothing is limited. */
bool landlock_is_there(void);

#endif
