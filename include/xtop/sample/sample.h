/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sample: what one tick copied from the guest. A sample lies like this in the ring, and nearly so
 * in a recording (doc/FORMATS). Little-endian, every part a multiple of 8 bytes:
 *
 *   struct sample            the tick
 *     struct sample_vcpu     one for each vCPU that was looked at
 *       struct sample_stack  one for each copied piece of stack, before its bytes, padded to 8
 *
 * The sampler writes a sample; resolver and recording read it. A reader trusts no length in a
 * sample: call sample_check() first, then walk with sample_first_vcpu(), sample_next_vcpu() and so
 * on.
 */
#ifndef XTOP_SAMPLE_H
#define XTOP_SAMPLE_H

#include <stdbool.h>
#include <string.h>

#include "xtop/base/types.h"

#define SAMPLE_MAX_STACKS        8          /* pieces of each vCPU: kernel, interrupt, user, ... */
#define SAMPLE_STACK_LIMIT_BYTES (64 << 10) /* all pieces of a vCPU together */
#define SAMPLE_WEIGHT_TICK 1024             /* the weight of a sample that stands for one tick */

enum sample_flag {
	SAMPLE_LATE = 1 << 0,   /* the tick began over half a period after its deadline */
	SAMPLE_RETAKE = 1 << 1, /* a second stop was needed: pages were not mapped at the first */
};

struct sample {
	uint32_t size_bytes; /* size of the whole record */
	uint16_t n_vcpus;    /* number of struct sample_vcpu that follow */
	uint16_t flags;      /* enum sample_flag */
	uint64_t time_ns;    /* CLOCK_MONOTONIC when the guest was stopped */
	uint32_t stopped_ns; /* time from before the pause to after the unpause; 0: no stop */
	uint32_t period_ns;  /* mean time from one deadline to the next, as asked for */
	uint32_t weight;     /* ticks that the sample stands for, times SAMPLE_WEIGHT_TICK; not 0 */
	/*
	 * Weight of each vCPU that was read while it ran or waited, in the unit of `weight`. It
	 * exceeds `weight` where others ran or waited too and were not read. 0: all were read, and
	 * each has `weight`.
	 */
	uint32_t vcpu_weight;
};

/* Why the copy of a stack ends where it does. Only the unwinder can tell whether that matters. */
enum sample_cut {
	CUT_NONE,        /* there was nothing to copy */
	CUT_LIMIT,       /* all that is known to be live was copied, or SAMPLE_STACK_LIMIT_BYTES */
	CUT_NOT_PRESENT, /* the guest's page tables have no page there */
	CUT_NOT_MAPPED,  /* Xen would not map the frame, or not in time */
	CUT_FAULT,       /* the frame went away during the copy: the guest gave it to Xen */
	CUT_NO_PAGING,   /* the vCPU has no page tables */
};
#define N_SAMPLE_CUTS 6

struct sample_vcpu {
	uint32_t size_bytes; /* size of this struct and the vCPU's stacks */
	uint16_t vcpu;       /* number of the vCPU */
	uint8_t state;       /* enum vcpu_state; BLOCKED and OFFLINE have no stack */
	uint8_t user;        /* 1: the vCPU ran user code */
	uint8_t n_stacks;
	uint8_t stack_cut;   /* enum sample_cut: why the stacks at the stack pointer end */
	uint8_t user_cut;    /* enum sample_cut: why STACK_USER ends; CUT_NONE: no such piece */
	uint8_t frame[5];    /* number for sample_get_code_frame() or sample_get_user_tables() */
	uint64_t task;       /* guest-virtual address of Linux's task `current`; 0: not read */
	struct registers regs;
};

/* The ticks that VCPU of SAMPLE stands for, times SAMPLE_WEIGHT_TICK. */
static inline uint32_t sample_get_weight(const struct sample *sample,
					 const struct sample_vcpu *vcpu)
{
	return vcpu->state > VCPU_BLOCKED && sample->vcpu_weight ? sample->vcpu_weight
								 : sample->weight;
}

/*
 * Whether the registers were read. A BLOCKED vCPU has registers only in the first sample, if
 * no vCPU ran then: the registers lead the resolver to the guest's system.
 */
static inline bool sample_has_registers(const struct sample_vcpu *vcpu)
{
	return vcpu->state > VCPU_BLOCKED || registers_stack_pointer(&vcpu->regs);
}

/*
 * The number in VCPU->frame. Physical addresses of x86-64 have at most 52 bits (Intel SDM vol. 3A
 * §4.1.4), so a frame number has 40: the five low bytes, which come first on the machines that xtop
 * runs on.
 */
static inline frame_t sample_get_frame(const struct sample_vcpu *vcpu)
{
	uint64_t value = 0;

	memcpy(&value, vcpu->frame, sizeof(vcpu->frame));
	return FRAME(value);
}

static inline void sample_set_frame(struct sample_vcpu *vcpu, frame_t frame)
{
	memcpy(vcpu->frame, &frame.value, sizeof(vcpu->frame));
}

/*
 * The frame of the code's page, at rip or pc, if the vCPU ran user code of a Linux guest; 0: not
 * read. A foreign mapping takes this number.
 */
static inline frame_t sample_get_code_frame(const struct sample_vcpu *vcpu)
{
	return vcpu->user ? sample_get_frame(vcpu) : FRAME(0);
}

/*
 * The frame of the page tables by which STACK_USER was read, if the vCPU ran kernel code and its
 * registers have other tables than the user's; 0: the registers' own tables. Between two tasks the
 * registers may have the other task's tables; on arm64 they may have an empty table
 * (CONFIG_ARM64_SW_TTBR0_PAN).
 */
static inline frame_t sample_get_user_tables(const struct sample_vcpu *vcpu)
{
	return vcpu->user ? FRAME(0) : sample_get_frame(vcpu);
}

/* The page tables of the user stacks. */
static inline struct memory_root sample_get_user_root(const struct sample_vcpu *vcpu)
{
	frame_t tables = sample_get_user_tables(vcpu);
	struct memory_root root = walk_root(&vcpu->regs);

	return tables.value ? root_with_table(root, tables.value << GUEST_PAGE_SHIFT) : root;
}

/* The number of the user stacks' address space, such as registers_space() returns. */
static inline uint64_t sample_get_user_space(const struct sample_vcpu *vcpu)
{
	struct memory_root root = sample_get_user_root(vcpu);

	return root_space(root);
}

/*
 * Kinds of pieces. A vCPU's pieces come in this order: at most one STACK_FIRST, at most
 * SAMPLE_MAX_LINKS STACK_LINKED, at most one of each other kind. In user mode STACK_FIRST is the
 * user stack. A user stack begins a few pages further out if the page at its stack pointer was not
 * touched yet. A thread of Go has more stacks than the one it is on (go_stacks.h).
 */
enum sample_stack_kind {
	STACK_FIRST,    /* begins at the stack pointer */
	STACK_LINKED,   /* an interrupted stack: begins where the piece before points */
	STACK_USER,     /* stack of the user code that entered the kernel: begins at its sp */
	STACK_GO_OUTER, /* stack further out than the piece before, after a signal or vDSO call */
	/*
	 * The goroutine's stack, which the thread left for g0's. The piece begins a word below the
	 * stack's saved stack pointer. On arm64 no stack has the address where the goroutine goes
	 * on, so the sampler writes that address into this word.
	 */
	STACK_GOROUTINE,
	/* g0's stack, which the thread left for the goroutine's. Begins like STACK_GOROUTINE. */
	STACK_G0,
	/*
	 * Words of an interpreter's frames, innermost first, as a recipe tells (recipe.h). Instead
	 * of an address the piece has the number of words of a frame; 0: an old recording.
	 */
	STACK_LIST,
};
#define N_STACK_KINDS    7
#define SAMPLE_MAX_LINKS 3

struct sample_stack {
	uint64_t address;    /* guest-virtual address of the first byte */
	uint32_t size_bytes; /* number of the bytes that follow, before padding */
	uint32_t kind;       /* enum sample_stack_kind */
};

/* Size of the largest record of a guest with N_VCPUS, in bytes. */
static inline size_t sample_size_max(unsigned n_vcpus)
{
	return sizeof(struct sample) +
	       n_vcpus * (sizeof(struct sample_vcpu) +
			  SAMPLE_MAX_STACKS * (sizeof(struct sample_stack) + 8) +
			  SAMPLE_STACK_LIMIT_BYTES);
}

/* Whether all parts of RECORD lie inside its SIZE_BYTES. sample_first_vcpu() etc. rely on this. */
bool sample_check(const void *record, size_t size_bytes);

static inline const struct sample_vcpu *sample_first_vcpu(const struct sample *sample)
{
	return (const struct sample_vcpu *)(sample + 1);
}

static inline const struct sample_vcpu *sample_next_vcpu(const struct sample_vcpu *vcpu)
{
	return (const struct sample_vcpu *)((const char *)vcpu + vcpu->size_bytes);
}

static inline const struct sample_stack *sample_first_stack(const struct sample_vcpu *vcpu)
{
	return (const struct sample_stack *)(vcpu + 1);
}

static inline const struct sample_stack *sample_next_stack(const struct sample_stack *stack)
{
	return (const struct sample_stack *)((const char *)(stack + 1) +
					     ((stack->size_bytes + 7) & ~7U));
}

#endif
