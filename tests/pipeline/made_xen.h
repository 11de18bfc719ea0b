/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A made-up Xen in shared memory, for tests in which all processes and threads of a pipeline are real.
 * It replaces the functions of domains.c, domctl.c, foreign.c, host_look.c and trace_buffers.c.
 */
#ifndef TESTS_MADE_XEN_H
#define TESTS_MADE_XEN_H

#include <stdatomic.h>

#include "xtop/supervise/broker.h"

struct xen {
	atomic_int domid; /* web01's domid; 0: it is away */
	atomic_int end;   /* why it is away */
	atomic_int n_vcpus;
	atomic_ullong looks;
	atomic_int hangs;     /* the next stop hangs */
	atomic_int longer_us; /* so much longer is each stop */
	atomic_int sampler, guard, keeper;
	atomic_int slow;      /* questions that wait for xenstore for ever */
	atomic_int memory_of; /* the last domid whose memory was opened */
	atomic_bool traces;
};
extern struct xen *xen;

/* Before the first fork(). */
void made_xen_init(void);
/* web01 is domain 5, with two vCPUs, and is not paused. */
void made_xen_begin(void);
/* The domain's pause count. */
int made_xen_pauses(void);
unsigned long long made_xen_stops(void);
/* Whether the guest stands still on xtop's account. */
bool made_xen_is_stopped(void);
/* Releases the guest in the place of the keeper. */
void made_xen_release(void);
/* The body of the sampler; a sampler_run_fn. */
void made_xen_run(struct guest *guest, struct control *control, struct ring *ring);

#endif
