/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives up rights. After sandbox_enter() this process can do less harm than a program of an
 * ordinary user, so it may parse bytes from a guest or a file. doc/SECURITY has the list of what it
 * gives up. Call it before the first thread starts, and after the last file is opened that needs
 * rights.
 */
#ifndef XTOP_SANDBOX_H
#define XTOP_SANDBOX_H

#include "xtop/error.h"

/*
 * Closes descriptors that came through exec, except the three streams. Root becomes the user who
 * called sudo, or nobody. All capabilities are dropped, and only the system calls of a list remain.
 * Nothing of this can be undone. After an error some of it has failed, and the process must not go
 * on. A build with sanitizers does nothing here, because sanitizers do not work in the sandbox.
 */
struct xtop_error *sandbox_enter(void);
/*
 * What the user must know of rights that this process keeps, before it reads a guest. NULL:
 * nothing.
 */
const char *sandbox_warning(void);

#endif
