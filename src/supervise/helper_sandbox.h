/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: the sandbox of the processes that talk to servers: fetcher, sender. */
#ifndef SUPERVISE_HELPER_SANDBOX_H
#define SUPERVISE_HELPER_SANDBOX_H

#include <stdbool.h>

#include "xtop/base/error.h"

/*
 * Gives up all rights but these: to read what everybody may read below /usr and /etc, to write
 * below FOLDER (-1: none), and to use the sockets that are open. If CONNECTS is set, it may
 * also make TCP and UDP sockets. The process becomes the user who called sudo, or nobody; without a
 * folder it becomes a user of its own. All libraries must be loaded before.
 */
struct xtop_error *helper_sandbox_enter(int folder, bool connects);

#endif
