/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: walls of the processes that stay root because they talk to Xen: the
 * broker, and the processes that it forks. With hypercalls a process can do anything on this
 * machine, so these walls are a second line. The first line is that such a process reads no byte of
 * a guest but page tables and stacks.
 */
#ifndef SUPERVISE_ROOT_SANDBOX_H
#define SUPERVISE_ROOT_SANDBOX_H

#include "xtop/base/error.h"

enum root_kind {
	ROOT_BROKER,  /* answers main, and forks the processes that look, ask and open */
	ROOT_KEEPER,  /* has started a guard: waits, kills, releases */
	ROOT_GUARD,   /* guard and watcher of a trace, which start another process, too */
	ROOT_SAMPLER, /* has opened all that it needs */
	ROOT_LOOKER,  /* looks at the host: asks Xen and xenstore, and starts nothing */
	N_ROOT_KINDS
};

/* Gives up the capabilities that a process of KIND does not need. */
void root_sandbox_drop(enum root_kind kind);
/*
 * Gives up system calls, too. A process has the walls of its parents as well, so the first sampler
 * of a guest descends from no process that has called this function. After an error the process has
 * no such wall, and has to end.
 */
struct xtop_error * root_sandbox_enter(enum root_kind kind);

#endif
