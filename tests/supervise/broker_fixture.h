/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of the broker share: a made-up Xen and a made-up keeper, which replace domains.c,
 * foreign.c, domctl.c and keeper.c; and a broker that is asked over the bare socket.
 */
#ifndef XTOP_TESTS_BROKER_FIXTURE_H
#define XTOP_TESTS_BROKER_FIXTURE_H

#include <sys/types.h>

#include "supervise/broker.h"
#include "supervise/broker_wire.h"

#define N_DOMAINS 300 /* domains in a list of all */

/* Memory that the test and its broker share: the test's orders, and what the broker did. */
extern struct seen {
	uint32_t memory_of;             /* the last domid whose memory was opened */
	unsigned started, asked, ended; /* keepers that were started, asked to quit, and ended */
	unsigned asked_first;           /* keepers that were asked to quit before one ended */
	bool refuses;                   /* no keeper can be started */
	pid_t main;                     /* main, as the last keeper knows it */
	bool has_run;                   /* the last keeper has a sampler to run */
	bool slow;                      /* xenstore does not answer */
	uint32_t started_domid;         /* domid of the last keeper */
	char unpaused[40];              /* the last domain that guest_undo_pause() was called for */
	double budget;                  /* budget of the last keeper */
	double rate_hz;                 /* its rate */
	bool spent;                     /* the last sampler began without credit */
	bool shared;                    /* argument of the last keeper_start() */
	uint64_t pause_ns;              /* how long Xen pauses a vCPU whose registers are read */
	unsigned read;                  /* how often registers were read */
	uint64_t paused_ns;             /* pauses that the guard was told of */
	bool aligned;                   /* whether the first record of the ring was aligned */
	bool has_terminal; /* or another stream of the test's: the process that starts keepers */
	int dumpable;    /* prctl(2): whether the process that starts keepers leaves core files */
	uint32_t reused; /* the domid that another domain has now */
} * seen;

/* Settings of each broker: domain web01, and other1 to other64: one more than it samples. */
extern struct broker_settings settings;

/* Prepares `seen` and `settings`. To be called first. */
void fixture_begin(void);
/* Whether ERROR's message has TEXT. Destroys ERROR. */
bool says(struct xtop_error *error, const char *text);
/* Starts a broker without a main. Returns the socket on which the test plays main. */
int start_bare(pid_t *pid);
/* Sends REQUEST with descriptors, and waits for the reply. Returns whether the broker obeyed. */
bool ask(int socket, struct broker_request request, const int *fds, size_t n_fds);

#endif
