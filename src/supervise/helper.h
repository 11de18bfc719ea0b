/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the processes that fetch debug files and that read source lines have alike. */
#ifndef SUPERVISE_HELPER_H
#define SUPERVISE_HELPER_H

/*
 * A helper begins, just after fork(): the terminal's signals mean nothing to it, the three streams
 * are /dev/null, SOCKET is the only other descriptor, and it dies with its parent.
 */
void helper_detach(int socket);

#endif
