/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A vCPU of arm64 in AArch32 state, with a kernel of 32 bits (ARMv7's instructions and page
 * tables); vcpu.h includes this header. Its registers are those of struct registers_arm64,
 * where the processor and Xen put them: r0 to r12 are x0 to x12, and each mode has sp and lr of its
 * own (Arm ARM, DDI 0487J.a §D1.20.1 "Mapping of the general-purpose registers between the
 * Execution states"; Xen 4.17 public/arch-arm.h, struct vcpu_guest_core_regs).
 *
 *   mode   M, bits 4..0   sp    lr    r8 to r12
 *   usr    0x10           x13   x14
 *   fiq    0x11           x29   x30   x24 to x28
 *   irq    0x12           x17   x16
 *   svc    0x13           x19   x18
 *   abt    0x17           x21   x20
 *   und    0x1b           x23   x22
 *   sys    0x1f           x13   x14
 *
 * Upper halves of registers are not defined. TTBCR is where TCR_EL1 is, and TTBR0 and TTBR1 are in
 * the registers of nearly the same names (§D1.20, table of system registers).
 */
#ifndef XTOP_VCPU_ARM32_H
#define XTOP_VCPU_ARM32_H

#include "xtop/base/vcpu_arm64.h"

#define ARM32_MODE     0x1fULL
#define ARM32_MODE_USR 0x10
#define ARM32_MODE_FIQ 0x11
#define ARM32_MODE_IRQ 0x12
#define ARM32_MODE_SVC 0x13
#define ARM32_MODE_ABT 0x17
#define ARM32_MODE_UND 0x1b

#define PSTATE_ARM32_THUMB (1ULL << 5) /* T of CPSR */

#define REGISTER_ARM32_SP 13
#define REGISTER_ARM32_LR 14
#define N_REGISTERS_ARM32 15 /* r0 to r12, sp and lr */

#define ARM32_END (1ULL << 32) /* the end of all addresses */

/*
 * TTBCR (Arm ARM, TTBCR). Page tables have short descriptors, of 4 bytes, or long ones, of 8 bytes
 * (LPAE).
 *
 *   31 EAE: long ones
 *   short: 5 PD1   4 PD0   2..0 N          long: 23 EPD1   18..16 T1SZ   7 EPD0   2..0 T0SZ
 *
 * TCR_EL1 of a kernel of 64 bits looks different. Its bits 31 and 30 (TG1) are not both 0, and its
 * T0SZ is at least 12, so bits 5 to 3 are not all 0.
 */
#define TTBCR_ARM32_EAE        (1ULL << 31)
#define TTBCR_ARM32_64_BITS    (1ULL << 30) /* TG1 of TCR_EL1, if EAE is clear */
#define TTBCR_ARM32_64_SIZE    (7ULL << 3)  /* bits of TCR_EL1's T0SZ, if EAE is set */
#define TTBCR_ARM32_PD0_SHIFT  4
#define TTBCR_ARM32_PD1_SHIFT  5
#define TTBCR_ARM32_EPD0_SHIFT 7
#define TTBCR_ARM32_EPD1_SHIFT 23
#define TTBCR_ARM32_T1SZ_SHIFT 16

#define ROOT_ARM32 0x81 /* value of struct memory_root's last byte */

static inline bool ttbcr_is_arm32(uint64_t tcr)
{
	return !(tcr & (tcr & TTBCR_ARM32_EAE ? TTBCR_ARM32_64_SIZE : TTBCR_ARM32_64_BITS));
}

/*
 * Whether the vCPU's kernel has 32 bits. User code of 32 bits may have a kernel of 64 bits, whose
 * page tables TCR describes.
 */
static inline bool registers_arm64_is_32(const struct registers_arm64 *regs)
{
	return regs->pstate & PSTATE_ARM64_AARCH32 &&
	       ((regs->pstate & ARM32_MODE) != ARM32_MODE_USR || ttbcr_is_arm32(regs->tcr));
}

/* Whether the code that the vCPU runs has 32 bits, whatever its kernel has. */
static inline bool registers_arm64_runs_32(const struct registers_arm64 *regs)
{
	return regs->pstate & PSTATE_ARM64_AARCH32;
}

/*
 * Index in x[] of the current mode's sp. The mode's lr has the index below; in usr, sys and fiq
 * mode the index above.
 */
static inline unsigned registers_arm32_sp_place(uint64_t cpsr)
{
	switch (cpsr & ARM32_MODE) {
	case ARM32_MODE_FIQ:
		return 29;
	case ARM32_MODE_IRQ:
		return 17;
	case ARM32_MODE_SVC:
		return 19;
	case ARM32_MODE_ABT:
		return 21;
	case ARM32_MODE_UND:
		return 23;
	default:
		return REGISTER_ARM32_SP;
	}
}

/* Value of the current mode's register I, which is below N_REGISTERS_ARM32. */
static inline uint32_t registers_arm32_get(const struct registers_arm64 *regs, unsigned i)
{
	unsigned mode = regs->pstate & ARM32_MODE, sp = registers_arm32_sp_place(mode);

	if (i == REGISTER_ARM32_SP)
		i = sp;
	else if (i == REGISTER_ARM32_LR)
		i = sp == REGISTER_ARM32_SP || mode == ARM32_MODE_FIQ ? sp + 1 : sp - 1;
	else if (i >= 8 && mode == ARM32_MODE_FIQ)
		i += 24 - 8;
	return (uint32_t)regs->x[i];
}

/* The root of the page tables. REGS are those of a vCPU whose kernel has 32 bits. */
static inline struct root_arm64 root_arm32(const struct registers_arm64 *regs)
{
	uint64_t ttbcr = regs->tcr;
	bool is_long = ttbcr & TTBCR_ARM32_EAE;

	return (struct root_arm64){
		.table0 = regs->ttbr0 & ROOT_ARM64_TABLE,
		.size0 = ttbcr & 7,
		.off0 = ttbcr >> (is_long ? TTBCR_ARM32_EPD0_SHIFT : TTBCR_ARM32_PD0_SHIFT) & 1,
		.off1 = ttbcr >> (is_long ? TTBCR_ARM32_EPD1_SHIFT : TTBCR_ARM32_PD1_SHIFT) & 1,
		.is_long = is_long,
		.table1 = regs->ttbr1 & ROOT_ARM64_TABLE,
		.size1 = is_long ? ttbcr >> TTBCR_ARM32_T1SZ_SHIFT & 7 : 0,
		.kind = ROOT_ARM32,
	};
}

#endif
