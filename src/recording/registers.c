/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples in a file have the registers of the recorded machine and no others; samples in memory
 * have room for those of any machine (struct registers). This file makes the one from the other.
 * Both have the same parts in the same order:
 *
 *   in the file    head of the sample │ head of a vCPU │ 208 or 328 bytes │ stacks │ ...
 *   in memory      struct sample      │ struct sample_vcpu with `arch`    │ stacks │ ...
 *
 * In a file of version 2 or older the sample's head ends before its weight. The writer's records
 * are xtop's own; the reader's bytes are hostile. Both run in the thread that has the file.
 */
#include "config.h"

#include "recording/format.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/vector.h"

#define VCPU_HEAD_BYTES offsetof(struct sample_vcpu, regs)

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

static void convert_put(struct recording_converted *to, const void *bytes, size_t size_bytes)
{
	memcpy(to->bytes + to->size_bytes, bytes, size_bytes);
	to->size_bytes += size_bytes;
}

/* --- to the file ------------------------------------------------------------------------------ */

bool recording_narrow(const struct sample *sample, enum guest_arch arch,
		      struct recording_converted *to)
{
	size_t registers_bytes = recording_registers_bytes(arch);
	size_t gone = sizeof(struct registers) - registers_bytes;
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);
	struct sample head = *sample;

	head.size_bytes -= (uint32_t)(gone * sample->n_vcpus);
	to->size_bytes = 0;
	if (!vector_reserve(to->bytes, to->capacity, head.size_bytes))
		return false;
	convert_put(to, &head, sizeof(head));
	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu)) {
		struct sample_vcpu narrow = *vcpu;

		narrow.size_bytes -= (uint32_t)gone;
		convert_put(to, &narrow, VCPU_HEAD_BYTES + registers_bytes);
		convert_put(to, vcpu + 1, vcpu->size_bytes - sizeof(*vcpu));
	}
	return true;
}

/* --- from the file ---------------------------------------------------------------------------- */

/* The sample's head, HEAD_BYTES in the file. False: it is not whole, or its size is wrong. */
static bool convert_head(const char *bytes, size_t size_bytes, size_t head_bytes,
			 struct recording_converted *to)
{
	struct sample head = { .weight = SAMPLE_WEIGHT_TICK };

	if (size_bytes < head_bytes)
		return false;
	memcpy(&head, bytes, head_bytes);
	if (head.size_bytes != size_bytes || head.n_vcpus > GUEST_MAX_VCPUS)
		return false;
	convert_put(to, &head, sizeof(head));
	return true;
}

/* One vCPU of at most LEFT_BYTES. Returns its bytes in the file; 0: it is not whole. */
static size_t convert_vcpu(const char *bytes, size_t left_bytes, enum guest_arch arch,
			   struct recording_converted *to)
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
	convert_put(to, &vcpu, sizeof(vcpu));
	convert_put(to, bytes + VCPU_HEAD_BYTES + registers_bytes,
		    size_bytes - VCPU_HEAD_BYTES - registers_bytes);
	return size_bytes;
}

enum recording_widened recording_widen(const char *bytes, size_t size_bytes, uint32_t version,
				       enum guest_arch arch, struct recording_converted *to)
{
	size_t head_bytes = version > RECORDING_VERSION_NO_WEIGHT ? sizeof(struct sample)
								  : RECORDING_OLD_SAMPLE_BYTES;
	size_t at = head_bytes, n;
	struct sample *sample;

	to->size_bytes = 0;
	if (!vector_reserve(to->bytes, to->capacity,
			    size_bytes + sizeof(*sample) +
				    GUEST_MAX_VCPUS * sizeof(struct registers)))
		return RECORDING_NO_MEMORY;
	if (!convert_head(bytes, size_bytes, head_bytes, to))
		return RECORDING_DAMAGED;
	sample = (struct sample *)to->bytes;
	for (unsigned i = 0; i < sample->n_vcpus; i++, at += n) {
		n = convert_vcpu(bytes + at, size_bytes - at, arch, to);
		if (!n)
			return RECORDING_DAMAGED;
	}
	sample->size_bytes = (uint32_t)to->size_bytes;
	return at == size_bytes ? RECORDING_WIDENED : RECORDING_DAMAGED;
}

void recording_converted_deinit(struct recording_converted *converted)
{
	free(converted->bytes);
}
