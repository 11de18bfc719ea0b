/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies a sample without the stack bytes that its walk did not need; see recording_trim_begin().
 * Before a stack is known the sampler copies a page of it, and later what the deepest chain in that
 * region needs. A recording only needs what this chain needs. Resolver's thread.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "recording/format.h"
#include "xtop/base/vector.h"

#define TRIM_LEAST_BYTES 8 /* what is kept of each piece at least: the word at its start */

bool recording_trim_begin(struct recording_trim *trim, const struct sample *sample)
{
	trim->size_bytes = 0;
	if (!vector_reserve(trim->bytes, trim->capacity, sample->size_bytes))
		return false;
	memcpy(trim->bytes, sample, sizeof(*sample));
	trim->size_bytes = sizeof(*sample);
	return true;
}

/* Appends BYTES. Returns where they are. All sizes in a record are multiples of 8. */
static size_t trim_put(struct recording_trim *trim, const void *bytes, size_t size_bytes)
{
	size_t at = trim->size_bytes;

	memcpy(trim->bytes + at, bytes, size_bytes);
	trim->size_bytes += size_bytes;
	return at;
}

static uint32_t trim_needed(const struct sample_stack *stack, uint64_t reached)
{
	uint64_t bytes = reached > stack->address ? reached - stack->address : 0;

	bytes = bytes < TRIM_LEAST_BYTES ? TRIM_LEAST_BYTES : bytes;
	return bytes < stack->size_bytes ? (uint32_t)bytes : stack->size_bytes;
}

static void trim_put_stack(struct recording_trim *trim, const struct sample_stack *stack,
			   uint64_t reached)
{
	struct sample_stack shorter = *stack;

	shorter.size_bytes = trim_needed(stack, reached);
	trim_put(trim, &shorter, sizeof(shorter));
	trim_put(trim, stack + 1, recording_pad(shorter.size_bytes));
}

void recording_trim_add(struct recording_trim *trim, const struct sample_vcpu *vcpu,
			const uint64_t *reached)
{
	const struct sample_stack *stack = sample_first_stack(vcpu);
	uint32_t size_bytes;
	size_t at;

	if (!reached) {
		trim_put(trim, vcpu, vcpu->size_bytes);
		return;
	}
	at = trim_put(trim, vcpu, sizeof(*vcpu));
	for (unsigned i = 0; i < vcpu->n_stacks; i++, stack = sample_next_stack(stack))
		trim_put_stack(trim, stack, reached[i]);
	size_bytes = (uint32_t)(trim->size_bytes - at);
	memcpy(trim->bytes + at + offsetof(struct sample_vcpu, size_bytes), &size_bytes,
	       sizeof(size_bytes));
}

const void *recording_trim_end(struct recording_trim *trim, uint16_t n_vcpus, size_t *size_bytesp)
{
	uint32_t size_bytes = (uint32_t)trim->size_bytes;

	memcpy(trim->bytes + offsetof(struct sample, n_vcpus), &n_vcpus, sizeof(n_vcpus));
	memcpy(trim->bytes + offsetof(struct sample, size_bytes), &size_bytes, sizeof(size_bytes));
	*size_bytesp = trim->size_bytes;
	return trim->bytes;
}

void recording_trim_deinit(struct recording_trim *trim)
{
	free(trim->bytes);
}
