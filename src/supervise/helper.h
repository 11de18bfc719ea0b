/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the processes begin that talk to servers and that read source lines. */
#ifndef SUPERVISE_HELPER_H
#define SUPERVISE_HELPER_H

/*
 * To be called in the child just after fork(). The child ignores the terminal's signals, its three
 * streams are /dev/null, SOCKET is its only other descriptor, and it dies with its parent.
 */
void helper_detach(int socket);

/*
 * Opens the folder CACHE/NAME.UID for the user UID that this process becomes (walls.h). CACHE is
 * root's, so this is done while the process is still root. -1: it cannot be made.
 */
int helper_open_cache(const char *cache, const char *name);

#endif
