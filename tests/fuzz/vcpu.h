/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A vCPU's record with registers and pieces of stack from the input. Small numbers in the input
 * become addresses in the stacks and the code, so some chains hold together.
 */
#ifndef TESTS_FUZZ_VCPU_H
#define TESTS_FUZZ_VCPU_H

#include "fuzz.h"
#include "xtop/sample/sample.h"

#define VCPU_KERNEL_CODE  0xffffffff81000000ULL
#define VCPU_USER_CODE    0x400000ULL
#define VCPU_KERNEL_STACK 0xffffc90000010000ULL
#define VCPU_USER_STACK   0x7fff12340000ULL
#define VCPU_MAX_WORDS    512 /* words of all stacks together */

struct fuzz_vcpu {
	struct sample sample; /* a sample of this vCPU alone */
	struct sample_vcpu vcpu;
	uint64_t rest[VCPU_MAX_WORDS + SAMPLE_MAX_STACKS * 2];
};

/* 3 bytes: a place in one of four ranges, or a number; 0xff before them: 8 bytes of their own. */
static inline uint64_t fuzz_word(struct fuzz *fuzz)
{
	static const uint64_t bases[] = { VCPU_KERNEL_CODE, VCPU_USER_CODE, VCPU_KERNEL_STACK,
					  VCPU_USER_STACK, 0 };
	uint8_t kind = fuzz_u8(fuzz);

	if (kind == 0xff)
		return fuzz_u64(fuzz);
	return bases[kind % 5] + fuzz_u16(fuzz);
}

/* A word of 32 bits for a kernel from 3 GiB on: a place in one of five ranges, or a number. */
static inline uint32_t fuzz_short_word(struct fuzz *fuzz)
{
	/* The last one: a frame pointer that is marked as registers. */
	static const uint32_t bases[] = { 0xc3000000, 0x08049000, 0xc1c24000, 0xbfc00000,
					  0x41c24000, 0 };
	uint8_t kind = fuzz_u8(fuzz);

	return bases[kind % 6] + fuzz_u16(fuzz);
}

/* A word of a stack: two of 32 bits if IS_SHORT. */
static inline uint64_t fuzz_stack_word(struct fuzz *fuzz, bool is_short)
{
	uint64_t low;

	if (!is_short)
		return fuzz_word(fuzz);
	low = fuzz_short_word(fuzz);
	return low | (uint64_t)fuzz_short_word(fuzz) << 32;
}

/* All registers of arm64, with halves of 48 bits. */
static inline void fuzz_arm64(struct fuzz *fuzz, struct registers *regs)
{
	uint64_t *words = (uint64_t *)&regs->arm64;

	regs->arch = ARCH_ARM64;
	for (size_t i = 0; i < REGISTERS_ARM64_BYTES / sizeof(*words); i++)
		words[i] = fuzz_word(fuzz);
	regs->arm64.tcr = 2ULL << TCR_ARM64_TG1_SHIFT | 16ULL << TCR_ARM64_T1SZ_SHIFT | 16;
}

/* All registers of a 32-bit Arm kernel: any mode, and words that fuzz_short_word() makes. */
static inline void fuzz_arm32(struct fuzz *fuzz, struct registers *regs)
{
	uint64_t *words = (uint64_t *)&regs->arm64;

	regs->arch = ARCH_ARM64;
	for (size_t i = 0; i < REGISTERS_ARM64_BYTES / sizeof(*words); i++)
		words[i] = fuzz_short_word(fuzz);
	regs->arm64.pstate = PSTATE_ARM64_AARCH32 | fuzz_u8(fuzz);
	regs->arm64.spsr_el1 = PSTATE_ARM64_AARCH32 | fuzz_u8(fuzz);
	regs->arm64.tcr = TTBCR_ARM32_EAE;
}

/* A record that passes sample_check(). */
static inline void fuzz_vcpu(struct fuzz *fuzz, struct fuzz_vcpu *vcpu)
{
	static const uint64_t bases[] = { VCPU_KERNEL_STACK, VCPU_KERNEL_STACK + 4096,
					  VCPU_USER_STACK };
	static const uint64_t short_bases[] = { 0xc1c24000, 0xc1c25000, 0xbfc00000 };
	unsigned n = fuzz_u8(fuzz) % 5, left = VCPU_MAX_WORDS;
	uint64_t *regs = (uint64_t *)&vcpu->vcpu.regs, *to = vcpu->rest;
	uint8_t how;
	bool is_arm, is_short;

	vcpu->sample = (struct sample){ .n_vcpus = 1, .weight = SAMPLE_WEIGHT_TICK };
	vcpu->vcpu = (struct sample_vcpu){ .state = VCPU_RUNNING, .stack_cut = CUT_LIMIT };
	how = fuzz_u8(fuzz);
	vcpu->vcpu.user = how & 1;
	vcpu->vcpu.user_cut = how >> 2 & 3;
	is_arm = how & 0x80;
	is_short = is_arm ? (how & 0x70) == 0x70 : how & 0x40;
	if (is_arm && is_short)
		fuzz_arm32(fuzz, &vcpu->vcpu.regs);
	else if (is_arm)
		fuzz_arm64(fuzz, &vcpu->vcpu.regs);
	for (size_t i = 0; !is_arm && i < 17; i++)
		regs[i] = is_short ? fuzz_short_word(fuzz) : fuzz_word(fuzz);
	if (is_short && !is_arm)
		vcpu->vcpu.regs.width = WIDTH_32_PAE;
	for (unsigned i = 0; i < n; i++) {
		struct sample_stack *piece = (struct sample_stack *)to;
		unsigned words = fuzz_u8(fuzz) % (left + 1);

		*piece = (struct sample_stack){
			.address = (is_short ? short_bases : bases)[fuzz_u8(fuzz) % 3] +
				   fuzz_u8(fuzz),
			.size_bytes = 8 * words,
			.kind = i == 0 ? STACK_FIRST : i < 4 ? STACK_LINKED : STACK_USER,
		};
		to += 2;
		for (unsigned j = 0; j < words; j++)
			*to++ = fuzz_stack_word(fuzz, is_short);
		left -= words;
	}
	vcpu->vcpu.n_stacks = (uint8_t)n;
	vcpu->vcpu.size_bytes = (uint32_t)((char *)to - (char *)&vcpu->vcpu);
	vcpu->sample.size_bytes = (uint32_t)((char *)to - (char *)vcpu);
	fuzz_must(sample_check(vcpu, vcpu->sample.size_bytes), "the record is right");
}

#endif
