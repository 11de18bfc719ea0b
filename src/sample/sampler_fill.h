/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sampler.c and sampler_fill.c: the sampler's state, and how a record of the ring is
 * filled. Sampler's thread.
 */
#ifndef SAMPLE_SAMPLER_FILL_H
#define SAMPLE_SAMPLER_FILL_H

#include "sample/copy.h"
#include "sample/run_time.h"
#include "sample/sample_cache.h"
#include "sample/ticks.h"
#include "sample/xen_clock.h"
#include "xtop/sample/sampler.h"

struct sampler {
	struct guest *guest;
	struct control *control;
	struct ring *ring;
	struct copier copier;
	struct ticks ticks;
	/*
	 * The clock, read when the sampler woke and after each stop. What comes in between takes
	 * microseconds. A reading is a system call where dom0's clock is Xen's: the vDSO can read
	 * that clock only if Xen says that it is the same on all CPUs.
	 */
	uint64_t now_ns;
	struct guest_look look, later; /* LATER: after a sample without a stop */
	uint64_t looked_ns;
	struct run_time run_time;
	struct xen_clock xen_clock;
	struct per_cpus per_cpus;
	unsigned n_touched; /* the ring has memory for a sample of so many vCPUs */
	unsigned n_wanted;  /* vCPUs that run, or wait for a physical CPU or a spinlock */
	uint16_t wanted[GUEST_MAX_VCPUS];
	struct registers regs[GUEST_MAX_VCPUS]; /* of the wanted vCPUs, in that order, as below */
	bool user[GUEST_MAX_VCPUS];
	bool waits[GUEST_MAX_VCPUS]; /* by the look; run_time.h may judge otherwise */
	struct copied copied[GUEST_MAX_VCPUS];
	/* 0: the vCPU may have run since its last sample; otherwise see guest_ops.stop() */
	uint64_t cached_cpu_ns[GUEST_MAX_VCPUS];
	struct sample_cache kept;
	bool bare;           /* copies no stacks */
	bool registers_only; /* no stacks in the next stop */
	/*
	 * The head of the record. It goes into the ring last. The resolver's process can write to
	 * the ring, and that process parses bytes of the guest. So the sampler never reads back
	 * what it has written there, but for bytes of stacks, which it only copies again.
	 */
	struct sample head;
	bool missed_pages;               /* a stack was cut at a page not mapped yet */
	bool stopped_once;               /* this sampler has stopped the guest before */
	uint64_t waiting_to, waiting_ns; /* a count of committed bytes, and when it was reached */
	uint64_t started_ns, cpu_measured_ns, published_ns, held_ns;
	uint64_t earlier_cpu_ns, earlier_maps; /* of the samplers before this one */
	struct sampler_counts counts;
};

/* What the I-th wanted vCPU runs. */
static inline const struct copy_task *sampler_running(const struct sampler *sampler, unsigned i)
{
	return &sampler->per_cpus.vcpus[sampler->wanted[i]].running;
}

/*
 * Fills ROOM and sampler->head with a sample of the wanted vCPUs, and of those that are idle. Guard
 * and keeper are told of the stops before and after. False: Xen refused the first stop.
 */
bool sampler_fill(struct sampler *sampler, char *room);

/* Counts STOPPED_NS, in which the guest or one of its vCPUs was stopped, for whatever reason. */
void sampler_count_stop(struct sampler *sampler, uint64_t stopped_ns);

/* From here on memory is read while the guest runs: pages may go away during a read. */
void sampler_begin_reading(struct sampler *sampler);
bool sampler_end_reading(struct sampler *sampler); /* false: a page went away */

#endif
