/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: questions to Xen and xenstore that end in time. xenstore may not answer at
 * all: xenstored may have died or be busy, and its library waits without end.
 */
#ifndef SUPERVISE_ASK_H
#define SUPERVISE_ASK_H

#include "xtop/xen/guest.h"

#define ASK_WAIT_NS 5000000000ULL

/*
 * Call xen_list() and xen_find() (xen.h), with an error if there is no answer within ASK_WAIT_NS.
 * Both also return when the other side of SOCKET is closed, since nobody wants the answer any more.
 * SOCKET -1: there is no socket. The question's CPU time is added to *CPU_NS; NULL: it is not
 * counted.
 */
struct xtop_error *ask_list(int socket, uint64_t *cpu_ns, struct guest_listing **listp, size_t *np);
struct xtop_error *ask_find(int socket, const char *domain, uint64_t *cpu_ns,
			    struct guest_info *info);

#endif
