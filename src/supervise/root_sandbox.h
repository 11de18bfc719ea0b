/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: what the processes that stay root may do, which talk to Xen: the broker,
 * and those that it forks. With hypercalls a process can do anything on this machine, so these
 * walls are a second line: such a process reads no byte of a guest but page tables and stacks.
 */
#ifndef SUPERVISE_ROOT_SANDBOX_H
#define SUPERVISE_ROOT_SANDBOX_H

enum root_kind {
	ROOT_BROKER,  /* answers main, and forks all others */
	ROOT_WATCHER, /* keeper, guard and the watcher of a trace: start, kill, release */
	ROOT_SAMPLER, /* has opened all that it needs */
	ROOT_LOOKER,  /* looks at the host: asks Xen and xenstore, and starts nothing */
	N_ROOT_KINDS
};

/*
 * Gives up capabilities that a process of KIND does not need and, if it is ROOT_LOOKER, system
 * calls. A process has the walls of its parents, too. A kernel without seccomp gives no such wall,
 * and main does not start.
 */
void root_sandbox_enter(enum root_kind kind);

#endif
