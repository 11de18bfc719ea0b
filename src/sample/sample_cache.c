/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of vCPUs that have not run since their last sample; see sample_cache.h. */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "sample/sample_cache.h"

/*
 * Room for the pieces of stacks of a vCPU, with their heads and padding. Most of it is never used,
 * and takes no memory then.
 */
#define SAMPLE_CACHE_VCPU_BYTES                                                                    \
	(SAMPLE_STACK_LIMIT_BYTES + SAMPLE_MAX_STACKS * (sizeof(struct sample_stack) + 8))

void sample_cache_create(struct sample_cache *kept, unsigned n_vcpus)
{
	void *bytes;

	kept->size_bytes = n_vcpus * SAMPLE_CACHE_VCPU_BYTES;
	bytes = mmap(NULL, kept->size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	kept->bytes = bytes == MAP_FAILED ? NULL : bytes;
}

void sample_cache_destroy(struct sample_cache *kept)
{
	if (kept->bytes)
		munmap(kept->bytes, kept->size_bytes);
	kept->bytes = NULL;
}

static char *kept_bytes(const struct sample_cache *kept, unsigned vcpu)
{
	return kept->bytes + vcpu * SAMPLE_CACHE_VCPU_BYTES;
}

void sample_cache_put_registers(struct sample_cache *kept, unsigned vcpu,
				const struct registers *regs, bool user)
{
	kept->vcpus[vcpu].cpu_ns = 0;
	kept->vcpus[vcpu].regs = *regs;
	kept->vcpus[vcpu].user = user;
	kept->vcpus[vcpu].sampled = true;
}

void sample_cache_hold_pages(const struct sample_cache *kept, unsigned vcpu, struct copier *copier)
{
	if (kept->vcpus[vcpu].sampled)
		copy_prepare(copier, &kept->vcpus[vcpu].regs, kept->vcpus[vcpu].user);
}

void sample_cache_put(struct sample_cache *kept, unsigned vcpu, uint64_t cpu_ns,
		      const struct registers *regs, bool user, const struct copied *copied,
		      const char *from)
{
	bool complete =
		!copied->missed && copied->cut != CUT_FAULT && copied->user_cut != CUT_FAULT;

	sample_cache_put_registers(kept, vcpu, regs, user);
	kept->vcpus[vcpu].cpu_ns = kept->bytes && complete ? cpu_ns : 0;
	if (!kept->vcpus[vcpu].cpu_ns)
		return;
	kept->vcpus[vcpu].copied = *copied;
	memcpy(kept_bytes(kept, vcpu), from, copied->size_bytes);
}

uint64_t sample_cache_find(const struct sample_cache *kept, unsigned vcpu, uint64_t cpu_ns,
			   struct copier *copier)
{
	if (!cpu_ns || kept->vcpus[vcpu].cpu_ns != cpu_ns ||
	    copy_prepare(copier, &kept->vcpus[vcpu].regs, kept->vcpus[vcpu].user) !=
		    kept->vcpus[vcpu].copied.size_bytes)
		return 0;
	return cpu_ns;
}

void sample_cache_copy(const struct sample_cache *kept, unsigned vcpu, char *to)
{
	memcpy(to, kept_bytes(kept, vcpu), kept->vcpus[vcpu].copied.size_bytes);
}
