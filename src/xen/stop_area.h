/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to xen/: the memory of the calls that stop a guest, ask about it and release it. Xen
 * reads and writes it. Sampler, guard and keeper share it; who may do what is in xtop/domctl.h.
 */
#ifndef XEN_STOP_AREA_H
#define XEN_STOP_AREA_H

#include "xen/domctl_abi.h"

#include <xen/hvm/hvm_op.h>

#include XEN_GUEST_HEADER
#include "xtop/domctl.h"

#define RESULT_PENDING 1 /* no domctl has this result: they return 0 or a negative errno */

/* One multicall: entries for Xen, and the domctls they point to. */
struct domctl_batch {
	multicall_entry_t *entries;
	struct xen_domctl *domctls;
};

/* A multicall that asks for Xen's system time. */
struct clock_call {
	multicall_entry_t entry;
	struct xen_hvm_get_time time;
};

struct stop_area {
	const struct domctl_abi *abi; /* of the Xen that runs */
	size_t size_bytes;
	unsigned n_vcpus;
	struct domctl_batch look, stop, ask;
	struct domctl_batch releases[N_STOP_USERS];
	struct vcpu_answer *answer;
	struct clock_call *clock;
	vcpu_guest_context_t *contexts; /* by vCPU */
	volatile uint64_t *stops;       /* number of stops begun: tells one stop from the next */
	int alarm_fd;                   /* a timer, which all processes share */
	/*
	 * How long Xen has paused vCPUs to answer the broker, and how much of that a look has
	 * reported. The broker writes the first, the sampler the second.
	 */
	volatile uint64_t *asked_ns, *reported_ns;
	struct pause_mark *mark;        /* outlives all processes of xtop; NULL: none */
};

#endif
