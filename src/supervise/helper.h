/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Helper processes: the broker, the senders, the fetcher and the line server. Main forks all of
 * them in one way, before it opens anything and before it starts a thread. Each one then gives up
 * rights in its own way.
 */
#ifndef SUPERVISE_HELPER_H
#define SUPERVISE_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "xtop/base/error.h"

/* A helper process, as its parent sees it. All zeros: there is none. */
struct helper {
	int socket; /* the parent's end; 0: there is no process */
	pid_t pid;  /* the process, or its warden; 0: there is none, or it has ended */
};

/* The body of a helper process. SOCKET is the end that leads to the parent. */
typedef void helper_run_fn(void *context, int socket);

/*
 * Forks a process that runs RUN(CONTEXT, SOCKET) and ends when RUN returns. NAME is for messages:
 * "the broker". Both ends keep packets apart (SOCK_SEQPACKET).
 */
struct xtop_error *helper_start(const char *name, helper_run_fn *run, void *context,
				struct helper *helper);

/*
 * Call it in the child just after fork(). The child ignores the terminal's signals, its three
 * streams are /dev/null, and SOCKET is its only other descriptor. It forks another process, the
 * helper proper, in which this function returns, and becomes its warden (warden.h): no helper
 * outlives main.
 */
void helper_detach(int socket);

/* Closes all descriptors but the three streams and SOCKET. */
bool helper_close_others(int socket);

/*
 * Undoes helper_start(): closes the socket, whose end tells the process to end, and waits for the
 * process's end, WAIT_MS or longer on a busy machine. Without a process it does nothing.
 */
void helper_end(struct helper *helper, unsigned wait_ms);

/* Waits WAIT_MS, or longer on a busy machine, for the end of the process. True: it has ended. */
bool helper_wait_for_end(struct helper *helper, unsigned wait_ms);

/*
 * Opens the folder CACHE/NAME.UID for the user UID that this process becomes (helper_sandbox.h).
 * Call this function while the process is still root, because CACHE is root's. -1: the folder
 * cannot be made.
 */
int helper_open_cache(const char *cache, const char *name);

#endif
