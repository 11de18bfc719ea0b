/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals that end a run without a screen; see interrupt.h. */
#include "config.h"

#include "xtop/base/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t interrupt_seen;

static void interrupt_handle(int signal_number)
{
	(void)signal_number;
	interrupt_seen = 1;
}

void interrupt_catch(void)
{
	struct sigaction action = { .sa_handler = interrupt_handle, .sa_flags = (int)SA_RESETHAND },
			 ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

bool interrupt_came(void)
{
	return interrupt_seen;
}
