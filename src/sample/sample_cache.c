/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of vCPUs that have not run since their last sample; see sample_cache.h. */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "sample/sample_cache.h"

/*
 * Room for the pieces of stacks of a vCPU, with their heads and padding. Most of the room is never
 * used, and takes no memory then.
 */
#define SAMPLE_CACHE_VCPU_BYTES                                                                    \
	(SAMPLE_STACK_LIMIT_BYTES + SAMPLE_MAX_STACKS * (sizeof(struct sample_stack) + 8))

void sample_cache_create(struct sample_cache *cache, unsigned n_vcpus)
{
	void *bytes;

	cache->size_bytes = n_vcpus * SAMPLE_CACHE_VCPU_BYTES;
	bytes = mmap(NULL, cache->size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	cache->bytes = bytes == MAP_FAILED ? NULL : bytes;
}

void sample_cache_destroy(struct sample_cache *cache)
{
	if (cache->bytes)
		munmap(cache->bytes, cache->size_bytes);
	cache->bytes = NULL;
}

static char *sample_cache_bytes(const struct sample_cache *cache, unsigned vcpu)
{
	return cache->bytes + vcpu * SAMPLE_CACHE_VCPU_BYTES;
}

void sample_cache_put_registers(struct sample_cache *cache, const struct guest_vcpu *vcpu)
{
	struct cached_vcpu *cached = &cache->vcpus[vcpu->number];

	cached->cpu_ns = 0;
	cached->regs = vcpu->regs;
	cached->user = vcpu->user;
	cached->sampled = true;
}

void sample_cache_hold_pages(const struct sample_cache *cache, unsigned vcpu, struct copier *copier)
{
	if (cache->vcpus[vcpu].sampled)
		copy_prepare(copier, &cache->vcpus[vcpu].regs, cache->vcpus[vcpu].user);
}

void sample_cache_put(struct sample_cache *cache, const struct guest_vcpu *vcpu, uint64_t cpu_ns,
		      const struct copied *copied, const char *from)
{
	bool complete =
		!copied->missed && copied->stack_cut != CUT_FAULT && copied->user_cut != CUT_FAULT;
	struct cached_vcpu *cached = &cache->vcpus[vcpu->number];

	sample_cache_put_registers(cache, vcpu);
	cached->cpu_ns = cache->bytes && complete ? cpu_ns : 0;
	if (!cached->cpu_ns)
		return;
	cached->copied = *copied;
	memcpy(sample_cache_bytes(cache, vcpu->number), from, copied->size_bytes);
}

uint64_t sample_cache_find(const struct sample_cache *cache, unsigned vcpu, uint64_t cpu_ns,
			   struct copier *copier)
{
	if (!cpu_ns || cache->vcpus[vcpu].cpu_ns != cpu_ns ||
	    copy_prepare(copier, &cache->vcpus[vcpu].regs, cache->vcpus[vcpu].user) !=
		    cache->vcpus[vcpu].copied.size_bytes)
		return 0;
	return cpu_ns;
}

void sample_cache_copy(const struct sample_cache *cache, unsigned vcpu, char *to)
{
	memcpy(to, sample_cache_bytes(cache, vcpu), cache->vcpus[vcpu].copied.size_bytes);
}
