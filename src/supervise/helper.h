/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the processes begin that fetch debug files and that read source lines. */
#ifndef SUPERVISE_HELPER_H
#define SUPERVISE_HELPER_H

/*
 * To be called in the child just after fork(). The child ignores the terminal's signals, its three
 * streams are /dev/null, SOCKET is its only other descriptor, and it dies with its parent.
 */
void helper_detach(int socket);

#endif
