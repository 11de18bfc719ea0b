/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a vCPU, and the page tables that it uses, for all architectures. The
 * architecture is a value and not a choice of the build, so that a recording of one machine can be
 * replayed on another. types.h includes this header. Stages that hold for all architectures
 * copy these structures and ask the functions below, and do not look into them.
 *
 *   struct registers ── walk_root() ──► struct memory_root ──► walk.h
 */
#ifndef XTOP_VCPU_H
#define XTOP_VCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/base/registers_x86.h"
#include "xtop/base/vcpu_arm32.h"
#include "xtop/base/vcpu_arm64.h"

/* Values of registers.arch. x86 is 0, because older recordings are of x86 and have zeros there. */
enum guest_arch {
	ARCH_X86, /* x86-64 and i386: enum register_width */
	ARCH_ARM64, /* also in AArch32 state: registers_arm64_is_32() */
};
#define N_GUEST_ARCHS 2

/* Bytes before `arch` in a recording of x86: the x86 members of struct registers. */
#define REGISTERS_X86_BYTES (26 * sizeof(uint64_t))

/*
 * All registers that xtop reads. The order is xtop's own, neither DWARF's nor that of instruction
 * codes, and never changes: it is part of the recording format (doc/FORMATS).
 */
struct registers {
	union {
		struct {
			uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp;
			uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
			uint64_t rip, rflags;
			uint32_t cs;
			uint32_t width; /* enum register_width; before November 2026: 0 */
			uint64_t ss;
			uint64_t fs_base, gs_base, gs_base_kernel;
			uint64_t cr0, cr3;
			uint64_t cr4;
		};
		struct registers_arm64 arm64;
	};
	uint32_t arch;   /* enum guest_arch */
	uint32_t unused; /* 0 */
};

/*
 * Value of struct memory_root's last byte for a root without page tables: addresses are
 * guest-physical. Such a root finds memory that a 32-bit kernel has not mapped.
 */
#define ROOT_PHYSICAL 0x40

/* An address space: where its page tables begin. 16 bytes, which calls pass in registers. */
struct memory_root {
	union {
		struct {
			/* the register's value; bits 12..51 are used, with PAE bits 5..31 */
			uint64_t cr3;
			bool la57;    /* WIDTH_64: five levels */
			uint8_t unused[6];
			uint8_t width; /* enum register_width, or one of ROOT_... */
		};
		struct root_arm64 arm64;
		uint64_t words[2]; /* equal roots have equal words */
	};
};
_Static_assert(sizeof(struct memory_root) == 16, "passed in registers");

/*
 * The address space that a vCPU uses. PV guests never have five levels, and LA57 is never set in
 * their CR4. A recording may hold any width: bits that mean something else in a root are dropped.
 * Inline, because the sampler calls it for each vCPU while the guest is stopped.
 */
static inline struct memory_root walk_root(const struct registers *regs)
{
	if (regs->arch == ARCH_ARM64)
		return (struct memory_root){ .arm64 = registers_arm64_is_32(&regs->arm64)
							      ? root_arm32(&regs->arm64)
							      : root_arm64(&regs->arm64) };
	return (struct memory_root){ .cr3 = regs->cr3, .la57 = regs->cr4 & CR4_LA57,
				      .width = regs->width & ~(ROOT_ARM64 | ROOT_PHYSICAL) };
}

/* Whether ROOT belongs to an arm64 vCPU, with a 64-bit or a 32-bit kernel. */
static inline bool root_is_arm(struct memory_root root)
{
	return root.width & ROOT_ARM64;
}

/*
 * The number of the address space that user code has in ROOT. Two processes at the same time have
 * numbers that differ in bits 13 and higher (control.c). With pages of 64 KiB, tables of arm64 are
 * 64 bytes apart.
 */
static inline uint64_t root_space(struct memory_root root)
{
	return root_is_arm(root) ? root.arm64.table0 << 7 : root.cr3;
}

/* The number of the vCPU's address space. */
static inline uint64_t registers_space(const struct registers *regs)
{
	return root_space(walk_root(regs));
}

/* ROOT with another top table for user code. */
static inline struct memory_root root_with_table(struct memory_root root, uint64_t table)
{
	if (root_is_arm(root))
		root.arm64.table0 = table;
	else
		root.cr3 = table;
	return root;
}

/* Whether the vCPU is an arm64 vCPU with a 32-bit kernel. */
static inline bool registers_is_arm32(const struct registers *regs)
{
	return regs->arch == ARCH_ARM64 && registers_arm64_is_32(&regs->arm64);
}

/* Whether the vCPU runs 32-bit Arm code, with a kernel of 32 or of 64 bits. */
static inline bool registers_runs_arm32(const struct registers *regs)
{
	return regs->arch == ARCH_ARM64 && registers_arm64_runs_32(&regs->arm64);
}

static inline uint64_t registers_pc(const struct registers *regs)
{
	if (registers_runs_arm32(regs))
		return (uint32_t)regs->arm64.pc;
	return regs->arch == ARCH_ARM64 ? regs->arm64.pc : regs->rip;
}

static inline uint64_t registers_stack_pointer(const struct registers *regs)
{
	if (registers_runs_arm32(regs))
		return registers_arm32_get(&regs->arm64, REGISTER_ARM32_SP);
	return regs->arch == ARCH_ARM64 ? registers_arm64_sp(&regs->arm64) : regs->rsp;
}

/* Bytes of a word of the code that a vCPU runs: 4 in 32-bit code. USER: the vCPU runs user code. */
static inline uint8_t registers_word_bytes(const struct registers *regs, bool user)
{
	if (regs->arch == ARCH_ARM64)
		return registers_runs_arm32(regs) ? sizeof(uint32_t) : sizeof(uint64_t);
	return code_word_bytes(regs->width, user ? regs->cs : 0);
}

#endif
