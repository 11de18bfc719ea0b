/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the processes begin and end that talk to servers and that read source lines. */
#ifndef SUPERVISE_HELPER_H
#define SUPERVISE_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * To be called in the child just after fork(). The child ignores the terminal's signals, its three
 * streams are /dev/null, SOCKET is its only other descriptor, and it dies with its parent.
 */
void helper_detach(int socket);

/*
 * For the parent: ends the talk on SOCKET, at which the process is to end, and waits for that,
 * WAIT_MS at most. True: it has ended.
 */
bool helper_end(int socket, pid_t pid, unsigned wait_ms);

/*
 * For the parent: waits for the end of the process, WAIT_MS at most. PID 0: it has ended before.
 * True: it has ended.
 */
bool helper_wait_for_end(pid_t pid, unsigned wait_ms);

/*
 * Opens the folder CACHE/NAME.UID for the user UID that this process becomes (helper_sandbox.h).
 * CACHE is root's, so this is done while the process is still root. -1: it cannot be made.
 */
int helper_open_cache(const char *cache, const char *name);

#endif
