/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives up rights. After sandbox_enter() this process can do less harm than a program of an
 * ordinary user, so it may parse bytes from a guest or a file. doc/SECURITY has the list of what it
 * gives up. Call it before the first thread starts, and after the last file is opened that needs
 * rights.
 */
#ifndef XTOP_SANDBOX_H
#define XTOP_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "xtop/base/error.h"

/*
 * Closes descriptors that came through exec, except the three streams. Root becomes a user that has
 * no other process and no file. All capabilities are dropped, only the system calls of a list
 * remain, and files are opened to read only; where the kernel has Landlock, these are only a few
 * files of the system and the files below the N FOLDERS (descriptors; -1: none). Nothing of this
 * can be undone. After an error some of it has failed, and the process must not go on. A build with
 * sanitizers does nothing here, because sanitizers do not work in the sandbox.
 */
struct xtop_error *sandbox_enter(const int *folders, size_t n);
/*
 * Whether the user who called sudo, or else nobody, may make files in FOLDER. This user writes the
 * files that are named later (output.h). Call this function before sandbox_enter(), and before
 * other threads start.
 */
bool caller_may_write(const char *folder);
/*
 * Tells the user which rights this process keeps that it should not have when it reads a guest.
 * NULL: there are none.
 */
const char *sandbox_warning(void);

#endif
