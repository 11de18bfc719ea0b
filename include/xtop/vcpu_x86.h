/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of an x86 vCPU, and the page tables that it uses. xtop/types.h includes this
 * header. Stages that hold for all architectures copy these structures and do not look into them.
 */
#ifndef XTOP_VCPU_X86_H
#define XTOP_VCPU_X86_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/registers_x86.h"

/*
 * All registers that xtop reads. The order is xtop's own, neither DWARF's nor that of instruction
 * codes, and never changes: it is part of the recording format (doc/FORMATS).
 */
struct registers {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rip, rflags;
	uint32_t cs;
	uint32_t width; /* enum register_width; files from before November 2026 have 0 */
	uint64_t ss;
	uint64_t fs_base, gs_base, gs_base_kernel;
	uint64_t cr0, cr3;
	uint64_t cr4;
};

/* An address space: where its page tables begin. */
struct memory_root {
	uint64_t cr3;   /* as in the register; bits 12..51 are used, with WIDTH_32_PAE 5..31 */
	bool la57;      /* WIDTH_64: five levels */
	uint32_t width; /* enum register_width */
};

/*
 * The address space that a vCPU uses. PV guests never have five levels, and LA57 is never set in
 * their CR4. Inline, because the sampler calls it for each vCPU while the guest stands still.
 */
static inline struct memory_root walk_root(const struct registers *regs)
{
	return (struct memory_root){ .cr3 = regs->cr3, .la57 = regs->cr4 & CR4_LA57,
				      .width = regs->width };
}

#endif
