/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to xen/: the memory of the calls that stop a guest, ask about it and release it. Xen
 * reads and writes this memory. Sampler, guard and keeper share it; domctl.h says who may do what.
 */
#ifndef XEN_STOP_AREA_H
#define XEN_STOP_AREA_H

#include "xen/domctl_abi.h"

#include <stdatomic.h>
#include <xen/hvm/hvm_op.h>

#include XEN_GUEST_HEADER
#include "xtop/xen/domctl.h"

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
	const struct domctl_abi *abi; /* the interface of the Xen that runs */
	size_t size_bytes;
	unsigned n_vcpus;
	struct domctl_batch look, stop, ask;
	struct domctl_batch releases[N_STOP_USERS];
	struct vcpu_answer *answer;
	struct clock_call *clock;
	vcpu_guest_context_t *contexts; /* one for each vCPU */
	_Atomic uint64_t *stops;        /* number of stops begun: tells one stop from the next */
	int alarm_fd;                   /* a timer, which all processes share */
	/*
	 * asked_ns is the time for which Xen has paused vCPUs to answer the broker; the starter
	 * writes it. reported_ns is the part of this time that looks have reported; the sampler
	 * writes it.
	 */
	volatile uint64_t *asked_ns, *reported_ns;
	struct pause_mark *mark;        /* the record's mark, which outlives xtop; NULL: none */
};

/*
 * Sets the result of the first call of BATCH. Guard and keeper read results while the sampler
 * lives, so the order of all stores to them counts:
 *
 *   a stop writes     the number of stops, then the stop's result, then the release's
 *   a look reads      the releases' results, then the stop's; the next look begins with the number
 *
 * Each store releases those before it, and each load acquires. So a look that sees a new stop's
 * PENDING release also sees the result of this stop, and never reports a stop that is over as a
 * stop that lasts. Xen itself writes results on the CPU of the process that has called it.
 */
static inline void stop_area_set_result(const struct domctl_batch *batch, xen_ulong_t result)
{
	atomic_store_explicit((_Atomic xen_ulong_t *)&batch->entries[0].result, result,
			      memory_order_release);
}

static inline xen_ulong_t stop_area_result(const struct domctl_batch *batch)
{
	return atomic_load_explicit((const _Atomic xen_ulong_t *)&batch->entries[0].result,
				    memory_order_acquire);
}

/* Counts a new stop. Only the process that stops the guest writes these words. */
static inline void stop_area_begin_stop(const struct stop_area *area,
					const struct domctl_batch *release)
{
	uint64_t stops = atomic_load_explicit(area->stops, memory_order_relaxed);

	atomic_store_explicit(area->stops, stops + 1, memory_order_relaxed);
	stop_area_set_result(&area->stop, RESULT_PENDING);
	stop_area_set_result(release, RESULT_PENDING);
}

#endif
