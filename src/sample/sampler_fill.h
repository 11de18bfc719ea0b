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
#include "sample/schedule.h"
#include "xtop/sample/sampler.h"

struct vcpu_copy {
	bool waits; /* the look found the vCPU waiting; run_time.h may judge otherwise */
	struct copied copied;
};

struct sampler {
	struct guest *guest;
	struct control *control;
	struct ring *ring;
	struct copier copier;
	struct ticks ticks;
	/*
	 * The time, read when the sampler woke and after each stop. All work in between takes
	 * microseconds. A reading is a system call where dom0's clock is Xen's: the vDSO can read
	 * Xen's clock only if Xen says that the clock is the same on all CPUs.
	 */
	uint64_t now_ns;
	struct guest_look look;  /* the last look before the sample */
	struct guest_look later; /* the look after a sample without a stop */
	uint64_t looked_ns;      /* time when the guest was last looked at */
	struct run_time run_time;
	struct xen_clock xen_clock;
	struct per_cpus per_cpus;
	unsigned n_touched; /* the ring has memory for a sample of this many vCPUs */
	unsigned n_awake;   /* vCPUs that run, or wait for a physical CPU or a spinlock */
	unsigned n_wanted;  /* awake vCPUs that are read */
	unsigned n_waiting; /* wanted vCPUs that wait */
	unsigned n_cached;  /* wanted vCPUs whose stacks are in the cache */
	struct guest_vcpu wanted[GUEST_MAX_VCPUS]; /* the array for guest_ops.stop() */
	struct vcpu_copy copies[GUEST_MAX_VCPUS]; /* what was copied of each wanted vCPU */
	struct sample_cache cache;
	bool bare;           /* the sampler copies no stacks at all */
	bool registers_only; /* the next stop copies no stacks */
	/*
	 * The head of the record, which goes into the ring last. The resolver's process can write
	 * to the ring, and that process parses bytes of the guest. So the sampler reads back
	 * nothing that it has written to the ring, except bytes of stacks, which it only copies.
	 */
	struct sample head;
	uint64_t alarm_ns; /* time when the alarm was set; 0: no alarm is set */
	bool missed_pages; /* a stack was cut at a page not mapped yet */
	bool stopped_once; /* this sampler has stopped the guest before */
	/* waiting_ns: when the sampler first saw that the ring was not read up to waiting_to */
	uint64_t waiting_to, waiting_ns;
	uint64_t start_ns; /* time when the guest's system was found: samples age from then on */
	/* Start of sampling; the last measuring of CPU time, publishing, and holding of pages. */
	uint64_t started_ns, cpu_measured_ns, published_ns, held_ns;
	uint64_t earlier_cpu_ns, earlier_maps; /* counters of the samplers before this one */
	struct sampler_counts counts;
};

/* Makes NUMBER the vCPU that the copier copies next. */
static inline void sampler_select(struct sampler *sampler, unsigned number)
{
	sampler->copier.running = &sampler->per_cpus.vcpus[number].running;
	sampler->copier.vcpu = number;
}

/*
 * Fills ROOM and sampler->head with a sample of the wanted vCPUs and of the idle vCPUs. Sets the
 * alarm of guard and keeper before the stops. Returns false if Xen refused the first stop.
 */
bool sampler_fill(struct sampler *sampler, char *room);
/* Clears the alarm if the alarm would go off in the next SLEEP_NS, in which no stop comes. */
void sampler_end_stops(struct sampler *sampler, uint64_t sleep_ns);

/* Counts STOPPED_NS, in which the guest or one of its vCPUs was stopped, for whatever reason. */
void sampler_count_stop(struct sampler *sampler, uint64_t stopped_ns);

/* Begins to read guest memory while the guest runs: pages may go away during a read. */
void sampler_begin_reading(struct sampler *sampler);
/* Returns false if a page went away since sampler_begin_reading(). */
bool sampler_end_reading(struct sampler *sampler);

#endif
