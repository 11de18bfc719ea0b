/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: the process that forks keepers.
 *
 *   main ── broker ── starter ── keeper ── guard ── sampler
 *
 * A sampler has the filters of all processes above it, and with a filter each hypercall of a stop
 * takes longer (root_sandbox.c). So the starter is forked before the broker enters its walls, and
 * has no filter. It hears the broker alone.
 */
#ifndef SUPERVISE_STARTER_H
#define SUPERVISE_STARTER_H

#include "supervise/helper.h"
#include "xtop/supervise/broker.h"

#define STARTER_MAX_RUNS 64 /* 6 descriptors each: a process may usually have 1,024 */

/* The starter as the broker sees it. */
struct starter {
	struct helper process;
	uint64_t cpu_ns; /* its CPU time at its last answer */
};

/* What the broker knows of a guest that is to be sampled. */
struct starter_order {
	struct guest_info info;
	bool spent;         /* the sampler begins without credit */
	uint64_t paused_ns; /* pauses that no sampler has counted */
};

/* BROKER_SOCKET is closed in the new process. SETTINGS are copied by the fork. */
struct xtop_error *starter_open(const struct broker_settings *settings, int broker_socket,
				struct starter *starter);
/* FDS: control and ring of main. *END_FD is readable when all processes of this run have ended. */
struct xtop_error *starter_start(struct starter *starter, const struct starter_order *order,
				 const int fds[2], uint32_t *number, int *end_fd);
/* Returns when all processes of run NUMBER have ended. */
void starter_stop(struct starter *starter, uint32_t number);
/* Has DOMID's sampler count a pause. False: the domain is not sampled. */
bool starter_add_pause(struct starter *starter, uint32_t domid, uint64_t paused_ns);
/* Ends all runs, and the starter. */
void starter_end(struct starter *starter);

#endif
