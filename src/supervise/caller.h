/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: the user for whom root runs xtop. Files that are named while xtop runs are
 * written with this user's rights.
 */
#ifndef SUPERVISE_CALLER_H
#define SUPERVISE_CALLER_H

#include <sys/types.h>

#include "xtop/base/error.h"

struct caller {
	uid_t uid;
	gid_t gid;
};

/* Returns the user who called sudo, or else nobody. Call it as root, before other threads start. */
struct caller caller_find(void);
/*
 * Lets this process, which is root's, become CALLER for good, without other groups and without
 * capabilities. A process of another user keeps its user. A process that was to end with its
 * parent still ends with its parent. Error: also if the parent has ended meanwhile.
 */
struct xtop_error *caller_become(struct caller caller);
/*
 * Lets this process become a user of its own, which has no other process and no file; see
 * caller_become(). In a user namespace that has no such number, where root is not the host's root,
 * the process becomes the user who called sudo, or nobody.
 */
struct xtop_error *caller_become_own_user(void);

#endif
