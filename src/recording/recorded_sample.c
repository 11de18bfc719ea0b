/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sample as a file has it, made from a sample in memory, and the other way round. Samples in a
 * file have the registers of the recorded machine and no others; samples in memory have room for
 * the registers of any machine (struct registers). Both have the same parts in the same order:
 *
 *   in the file    head of the sample │ head of a vCPU │ 208 or 328 bytes │ stacks │ ...
 *   in memory      struct sample      │ struct sample_vcpu with `arch`    │ stacks │ ...
 *
 * In a file of version 2 or older the sample's head ends before its weight.
 *
 * A sample in a file also lacks the stack bytes that its walk did not need. Before a stack is known
 * the sampler copies a page of it, and later as much as the deepest chain in that region of the
 * stack needs. A recording needs only what this sample's chain needs (struct recording_needs).
 *
 * The writer's records are xtop's own; the reader's bytes are hostile. Both run in the thread that
 * has the file.
 */
#include "config.h"

#include "recording/format.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/vector.h"

#define VCPU_HEAD_BYTES   offsetof(struct sample_vcpu, regs)
#define STACK_LEAST_BYTES 8 /* each piece of stack keeps the word at its start */

uint32_t recording_machine(enum guest_arch arch)
{
	return arch == ARCH_ARM64 ? RECORDING_MACHINE_ARM64 : RECORDING_MACHINE_X86_64;
}

bool recording_find_arch(uint32_t machine, enum guest_arch *arch)
{
	switch (machine) {
	case RECORDING_MACHINE_X86_64:
		*arch = ARCH_X86;
		return true;
	case RECORDING_MACHINE_ARM64:
		*arch = ARCH_ARM64;
		return true;
	default:
		return false;
	}
}

size_t recording_registers_bytes(enum guest_arch arch)
{
	return arch == ARCH_ARM64 ? REGISTERS_ARM64_BYTES : REGISTERS_X86_BYTES;
}

/* Appends BYTES, for which there is room. All sizes in a sample are multiples of 8. */
static void recorded_sample_put(struct recorded_sample *to, const void *bytes, size_t size_bytes)
{
	memcpy(to->bytes + to->size_bytes, bytes, size_bytes);
	to->size_bytes += size_bytes;
}

/* --- encoding --------------------------------------------------------------------------------- */

/* Appends the bytes of STACK below the address END. */
static void recorded_sample_put_stack(struct recorded_sample *to, const struct sample_stack *stack,
				      uint64_t end)
{
	uint64_t needed_bytes = end > stack->address ? end - stack->address : 0;
	struct sample_stack shorter = *stack;

	if (needed_bytes < STACK_LEAST_BYTES)
		needed_bytes = STACK_LEAST_BYTES;
	if (needed_bytes < stack->size_bytes)
		shorter.size_bytes = (uint32_t)needed_bytes;
	recorded_sample_put(to, &shorter, sizeof(shorter));
	recorded_sample_put(to, stack + 1, recording_pad(shorter.size_bytes));
}

/* Appends VCPU. ENDS: for each stack the end of the needed bytes; NULL: all bytes are needed. */
static void recorded_sample_put_vcpu(struct recorded_sample *to, const struct sample_vcpu *vcpu,
				     const uint64_t *ends, size_t registers_bytes)
{
	const struct sample_stack *stack = sample_first_stack(vcpu);
	size_t start = to->size_bytes;
	uint32_t size_bytes;

	recorded_sample_put(to, vcpu, VCPU_HEAD_BYTES + registers_bytes);
	if (!ends)
		recorded_sample_put(to, stack, vcpu->size_bytes - sizeof(*vcpu));
	for (unsigned i = 0; ends && i < vcpu->n_stacks; i++, stack = sample_next_stack(stack))
		recorded_sample_put_stack(to, stack, ends[i]);
	size_bytes = (uint32_t)(to->size_bytes - start);
	memcpy(to->bytes + start + offsetof(struct sample_vcpu, size_bytes), &size_bytes,
	       sizeof(size_bytes));
}

bool recorded_sample_encode(const struct sample *sample, const struct recording_needs *needs,
			    enum guest_arch arch, struct recorded_sample *to)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);
	size_t registers_bytes = recording_registers_bytes(arch);
	struct sample *head;
	unsigned n_vcpus = needs ? needs->n_vcpus : sample->n_vcpus;

	to->size_bytes = 0;
	if (!vector_reserve(to->bytes, to->capacity, sample->size_bytes))
		return false;
	recorded_sample_put(to, sample, sizeof(*sample));
	for (unsigned i = 0; i < n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
		recorded_sample_put_vcpu(
			to, vcpu, needs && !needs->vcpus[i].all ? needs->vcpus[i].ends : NULL,
			registers_bytes);
	head = (struct sample *)to->bytes;
	head->n_vcpus = (uint16_t)n_vcpus;
	head->size_bytes = (uint32_t)to->size_bytes;
	return true;
}

/* --- decoding --------------------------------------------------------------------------------- */

/*
 * Appends the sample's head, which has HEAD_BYTES in the file. Returns false if the head is not
 * whole, or if its size is wrong.
 */
static bool recorded_sample_decode_head(const char *bytes, size_t size_bytes, size_t head_bytes,
					struct recorded_sample *to)
{
	struct sample head = { .weight = SAMPLE_WEIGHT_TICK };

	if (size_bytes < head_bytes)
		return false;
	memcpy(&head, bytes, head_bytes);
	if (head.size_bytes != size_bytes || head.n_vcpus > GUEST_MAX_VCPUS)
		return false;
	recorded_sample_put(to, &head, sizeof(head));
	return true;
}

/*
 * Appends the vCPU at BYTES, which has at most LEFT_BYTES. Returns its size in the file; 0 if the
 * vCPU is not whole.
 */
static size_t recorded_sample_decode_vcpu(const char *bytes, size_t left_bytes,
					  enum guest_arch arch, struct recorded_sample *to)
{
	size_t registers_bytes = recording_registers_bytes(arch);
	struct sample_vcpu vcpu = { .size_bytes = 0 };
	size_t size_bytes;

	if (left_bytes < VCPU_HEAD_BYTES + registers_bytes)
		return 0;
	memcpy(&vcpu, bytes, VCPU_HEAD_BYTES + registers_bytes);
	size_bytes = vcpu.size_bytes;
	if (size_bytes < VCPU_HEAD_BYTES + registers_bytes || size_bytes > left_bytes)
		return 0;
	vcpu.regs.arch = arch;
	vcpu.size_bytes += (uint32_t)(sizeof(struct registers) - registers_bytes);
	recorded_sample_put(to, &vcpu, sizeof(vcpu));
	recorded_sample_put(to, bytes + VCPU_HEAD_BYTES + registers_bytes,
			    size_bytes - VCPU_HEAD_BYTES - registers_bytes);
	return size_bytes;
}

enum recorded_sample_result recorded_sample_decode(const char *bytes, size_t size_bytes,
						   uint32_t version, enum guest_arch arch,
						   struct recorded_sample *to)
{
	size_t head_bytes = version > RECORDING_VERSION_NO_WEIGHT ? sizeof(struct sample)
								  : RECORDING_OLD_SAMPLE_BYTES;
	size_t at = head_bytes, n;
	struct sample *sample;

	to->size_bytes = 0;
	if (!vector_reserve(to->bytes, to->capacity,
			    size_bytes + sizeof(*sample) +
				    GUEST_MAX_VCPUS * sizeof(struct registers)))
		return RECORDED_SAMPLE_NO_MEMORY;
	if (!recorded_sample_decode_head(bytes, size_bytes, head_bytes, to))
		return RECORDED_SAMPLE_DAMAGED;
	sample = (struct sample *)to->bytes;
	for (unsigned i = 0; i < sample->n_vcpus; i++, at += n) {
		n = recorded_sample_decode_vcpu(bytes + at, size_bytes - at, arch, to);
		if (!n)
			return RECORDED_SAMPLE_DAMAGED;
	}
	sample->size_bytes = (uint32_t)to->size_bytes;
	return at == size_bytes ? RECORDED_SAMPLE_OK : RECORDED_SAMPLE_DAMAGED;
}

void recorded_sample_deinit(struct recorded_sample *sample)
{
	free(sample->bytes);
}
