/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: the parent of a helper process, which lets no helper outlive main.
 *
 *   main ── fork ─► warden ── fork ─► helper
 *
 * The kernel can end a process with its parent (PR_SET_PDEATHSIG), but it asks whether the parent
 * may send that signal (Linux kernel/exit.c, reparent_leader()). Main may not: it has given up its
 * rights, and the helper is another user's. The warden may: it keeps its rights, or is the helper's
 * user (opener.c). It reads nothing.
 *
 *   main ends      its end of the socket is closed: the warden ends when its parent has ended
 *   helper ends    the warden ends
 *   warden ends    the kernel kills the helper
 */
#ifndef SUPERVISE_WARDEN_H
#define SUPERVISE_WARDEN_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Makes this process, a child of PARENT, the warden of a helper, and returns in the helper. SOCKET
 * leads to main. False, in this process: the helper cannot be started.
 */
bool warden_fork(pid_t parent, int socket);

#endif
