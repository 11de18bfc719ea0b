/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: one domain's keeper as the broker sees it. See keeper.c. */
#ifndef SUPERVISE_KEEPER_H
#define SUPERVISE_KEEPER_H

#include "supervise/watch.h"

struct keeper {
	pid_t pid;
	int end_fd; /* of watch_fork(): readable when keeper, guard and sampler have ended */
	struct control *control;
	struct stop_area *area; /* shared memory: the broker counts pauses of its own in it */
};

/*
 * Forks the keeper, which forks the guard, which forks the sampler, which calls sampling->run.
 * sampling->area is not used: the area is made here. SOCKET belongs to the broker: the others close
 * it. What fails in the keeper is reported through control. Without SHARED this fails if another
 * xtop samples the guest.
 */
struct xtop_error *keeper_start(const struct sampling *sampling, bool shared, int socket,
				struct keeper *keeper);
/* Asks keeper, guard and sampler to quit. They may be stopped (SIGSTOP), so they get SIGCONT. */
void keeper_quit(const struct keeper *keeper);
/*
 * After keeper_quit(): waits for the end of all three, at most KEEPER_END_NS. If the keeper itself
 * hangs, it is killed then, and the guard does what it does when its keeper dies.
 */
#define KEEPER_END_NS 3000000000ULL
void keeper_end(struct keeper *keeper);

#endif
