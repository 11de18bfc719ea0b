/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: the stacks of vCPUs that have not run since their last sample. Sampler's
 * thread, while the guest runs.
 *
 * If a guest has more busy vCPUs than physical CPUs, most vCPUs wait, and many of them wait for
 * several ticks. While a vCPU waits, its registers do not change, and nobody else writes to the
 * live part of its stacks. So its stacks need not be read again. Xen tells whether the vCPU has
 * run: the time that a vCPU has run (struct guest_look, cpu_ns) grows if and only if the vCPU runs.
 * The sampler asks before the stop, and Xen's answer is checked in the stop, where nothing runs
 * (guest_ops.stop()). If no vCPU of a sample has run, there is no stop: the sample shows the moment
 * when Xen was asked.
 *
 * How many bytes of a stack are copied changes with what the resolver learns, for a vCPU that waits
 * as well. So the cached bytes are used only if a new copy would have the same size.
 *
 * The registers of every vCPU are cached: they tell which pages the vCPU's next sample needs. The
 * sampler uses these pages now and then, because a page that is not used for a while is unmapped.
 * If a sample misses a page, the guest runs on while the page is mapped, and is stopped again. A
 * vCPU that works for a millisecond now and then would be seen late in that millisecond, or not at
 * all.
 */
#ifndef SAMPLE_SAMPLE_CACHE_H
#define SAMPLE_SAMPLE_CACHE_H

#include "sample/copy.h"

/* A vCPU's last sample. */
struct cached_vcpu {
	/* How long the vCPU had run at the look before the sample; 0: only registers are cached. */
	uint64_t cpu_ns;
	struct registers regs;
	struct copied copied;
	bool user;    /* the vCPU ran user code */
	bool sampled; /* false: the vCPU was not sampled yet */
};

struct sample_cache {
	size_t size_bytes; /* size of the mapping at bytes */
	char *bytes;       /* the stacks of all vCPUs; NULL: no memory, no stack is cached */
	struct cached_vcpu vcpus[GUEST_MAX_VCPUS];
};

/* Creates a cache for N_VCPUS vCPUs. If memory is out, the cache stays without stacks. */
void sample_cache_create(struct sample_cache *cache, unsigned n_vcpus);
void sample_cache_destroy(struct sample_cache *cache);

/*
 * Stores a sample of VCPU: its registers, and its stacks, which lie at FROM and are described by
 * COPIED. CPU_NS: how long the vCPU had run at the look before the sample. Stacks whose copy is not
 * complete are not stored.
 */
void sample_cache_put(struct sample_cache *cache, const struct guest_vcpu *vcpu, uint64_t cpu_ns,
		      const struct copied *copied, const char *from);
/* Stores the registers of VCPU alone. */
void sample_cache_put_registers(struct sample_cache *cache, const struct guest_vcpu *vcpu);
/* Maps the pages of VCPU's last sample if they are not mapped, and counts them as used. */
void sample_cache_hold_pages(const struct sample_cache *cache, unsigned vcpu,
			     struct copier *copier);
/*
 * Before a stop: whether the cached stacks of VCPU can serve for the next sample. Returns CPU_NS,
 * the time that the vCPU has run until the look; the stacks serve if the vCPU does not run between
 * look and stop. Returns 0 if the stacks cannot serve. Maps pages if necessary.
 */
uint64_t sample_cache_find(const struct sample_cache *cache, unsigned vcpu, uint64_t cpu_ns,
			   struct copier *copier);
/* After the stop: writes the cached stacks of VCPU to TO. */
void sample_cache_copy(const struct sample_cache *cache, unsigned vcpu, char *to);

#endif
