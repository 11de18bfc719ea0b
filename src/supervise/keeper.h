/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: one domain's keeper as the starter sees it. See keeper.c. */
#ifndef SUPERVISE_KEEPER_H
#define SUPERVISE_KEEPER_H

#include "supervise/watch.h"

struct keeper {
	pid_t pid;
	int end_fd; /* readable when keeper, guard and sampler have ended; see watch_fork() */
	struct control *control;
	struct stop_area *area; /* shared memory, in which the broker's pauses are counted */
};

/* What a new keeper must know of main and of the starter. */
struct keeper_origin {
	pid_t main;  /* the process that a user knows, and can end */
	int socket;  /* the starter's socket, which the other processes close */
	bool shared; /* false: keeper_start() fails if another xtop samples the guest */
};

/*
 * Forks the keeper, which forks the guard, which forks the sampler, which calls sampling->run.
 * sampling->area is not used, because this function makes the area. The keeper reports its failures
 * through control.
 */
struct xtop_error *keeper_start(const struct sampling *sampling, const struct keeper_origin *origin,
				struct keeper *keeper);
/* Asks keeper, guard and sampler to quit. They may be stopped (SIGSTOP), so they get SIGCONT. */
void keeper_quit(const struct keeper *keeper);
/*
 * Call this function after keeper_quit(). Waits for the end of all three processes, at most
 * KEEPER_END_NS. A keeper that hangs is killed then, and its guard notices that the keeper died.
 */
#define KEEPER_END_NS 3000000000ULL
void keeper_end(struct keeper *keeper);

#endif
