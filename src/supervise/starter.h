/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: the process that forks keepers.
 *
 *   main ── broker ── starter ── keeper ── guard ── sampler
 *
 * A sampler has the filters of all processes above it, and with a filter each hypercall of a stop
 * takes longer (root_sandbox.c). So the starter is forked before the broker enters its walls, and
 * has no filter. The starter takes orders from the broker alone.
 */
#ifndef SUPERVISE_STARTER_H
#define SUPERVISE_STARTER_H

#include "supervise/helper.h"
#include "xtop/supervise/broker.h"

#define STARTER_MAX_RUNS 64 /* each has 6 descriptors; a process may usually have 1,024 */

/* The starter as the broker sees it. */
struct starter {
	struct helper process;
	uint64_t cpu_ns; /* the starter's CPU time at its last answer */
};

/* What the broker knows of a guest that is to be sampled. */
struct starter_order {
	struct guest_info info;
	bool spent;         /* the sampler begins without credit */
	uint64_t paused_ns; /* pauses that no sampler has counted */
};

/* Forks the starter, which closes BROKER_SOCKET, and gets a copy of SETTINGS by the fork. */
struct xtop_error *starter_open(const struct broker_settings *settings, int broker_socket,
				struct starter *starter);
/*
 * Starts keeper, guard and sampler of ORDER's domain: a run. FDS are main's control and ring.
 * *END_FD is readable when all three processes have ended.
 */
struct xtop_error *starter_start(struct starter *starter, const struct starter_order *order,
				 const int fds[2], uint32_t *number, int *end_fd);
/* Returns when all processes of run NUMBER have ended. */
void starter_stop(struct starter *starter, uint32_t number);
/* Has DOMID's sampler count a pause. False: the domain is not sampled. */
bool starter_add_pause(struct starter *starter, uint32_t domid, uint64_t paused_ns);
/* Ends all runs, and the starter. */
void starter_end(struct starter *starter);

#endif
