/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: the sandbox of the processes that talk to servers: fetcher, sender. */
#ifndef SUPERVISE_HELPER_SANDBOX_H
#define SUPERVISE_HELPER_SANDBOX_H

#include "xtop/base/error.h"

/*
 * Gives up all rights but these: to use the network, to read what everybody may read below /usr and
 * /etc, and to write below FOLDER (-1: none). The process becomes the user who called sudo, or
 * nobody.
 */
struct xtop_error *helper_sandbox_enter(int folder);

#endif
