/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each kind of process enters its walls, for tests that look at these from inside. */
#ifndef ENTER_WALLS_H
#define ENTER_WALLS_H

#include "supervise/helper_sandbox.h"
#include "xtop/supervise/sandbox.h"

static bool enter_main(void)
{
	return !sandbox_enter(NULL, 0);
}

static bool enter_client(void)
{
	return !helper_sandbox_enter(-1, true);
}

static bool enter_server(void)
{
	return !helper_sandbox_enter(-1, false);
}

#endif
