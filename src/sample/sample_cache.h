/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: the stacks of vCPUs that have not run since their last sample. Sampler's
 * thread, while the guest runs.
 *
 * If a guest has more busy vCPUs than physical CPUs, most vCPUs wait, and many of them wait for
 * several ticks. Such a vCPU stands where it stood, and only its own code writes to the live part
 * of its stacks. So its registers and stacks need not be read again. Xen tells whether it has run:
 * the time that a vCPU has run (struct guest_look, cpu_ns) grows if and only if the vCPU runs. The
 * sampler asks before the stop, and Xen's answer is checked in the stop, where nothing runs
 * (guest_ops.stop()). If no vCPU of a sample has run, there is no stop: the sample is one of the
 * moment when Xen was asked.
 *
 * How much of a stack is copied changes with what the resolver learns, for a vCPU that waits as
 * well. So the kept bytes are used only if a copy that was made now would have as many.
 *
 * The registers are kept of every vCPU: they tell which pages its next sample needs. A page that is
 * not used for a while is unmapped. Then the next stop misses it, the page is mapped while the
 * guest runs on, and the sample is one of the stop after that. A vCPU that works for a millisecond
 * now and then would be seen late in that millisecond, or no more.
 */
#ifndef SAMPLE_SAMPLE_CACHE_H
#define SAMPLE_SAMPLE_CACHE_H

#include "sample/copy.h"

struct sample_cache {
	size_t size_bytes; /* mapped at bytes */
	char *bytes;       /* NULL: nothing is kept */
	struct {
		uint64_t cpu_ns; /* by the look before the sample; 0: only the registers are kept */
		struct registers regs;
		struct copied copied;
		bool user, sampled; /* SAMPLED false: there are no registers yet */
	} vcpus[GUEST_MAX_VCPUS];
};

/* Without memory nothing will be kept. */
void sample_cache_create(struct sample_cache *kept, unsigned n_vcpus);
void sample_cache_destroy(struct sample_cache *kept);

/*
 * Keeps what a sample has of VCPU, which had run for CPU_NS at the look before: the bytes at FROM,
 * and what was copied of them. A copy that is not complete is not kept.
 */
void sample_cache_put(struct sample_cache *kept, unsigned vcpu, uint64_t cpu_ns,
		      const struct registers *regs, bool user, const struct copied *copied,
		      const char *from);
/* Keeps the registers alone. */
void sample_cache_put_registers(struct sample_cache *kept, unsigned vcpu,
				const struct registers *regs, bool user);
/* Maps the pages of VCPU's last sample, unless they are, and counts them as used. */
void sample_cache_hold_pages(const struct sample_cache *kept, unsigned vcpu, struct copier *copier);
/*
 * Before a stop: CPU_NS, if a sample of VCPU can be made of what is kept unless the vCPU runs for
 * more than that; otherwise 0. Maps pages if necessary.
 */
uint64_t sample_cache_find(const struct sample_cache *kept, unsigned vcpu, uint64_t cpu_ns,
			   struct copier *copier);
/* After the stop: writes the bytes that are kept of VCPU to TO. */
void sample_cache_copy(const struct sample_cache *kept, unsigned vcpu, char *to);

#endif
