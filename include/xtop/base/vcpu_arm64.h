/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of an arm64 vCPU (AArch64 state), and its page tables; vcpu.h includes this
 * header. "Arm ARM" is the Arm Architecture Reference Manual for A-profile, DDI 0487: sections are
 * those of issue J.a, and system registers are found there by their names.
 */
#ifndef XTOP_VCPU_ARM64_H
#define XTOP_VCPU_ARM64_H

#include <stdbool.h>
#include <stdint.h>

/* As Xen's struct vcpu_guest_context has them (Xen 4.17 public/arch-arm.h). */
struct registers_arm64 {
	uint64_t x[31]; /* x29: frame pointer; x30: link register */
	uint64_t pc;
	uint64_t pstate; /* the processor's state, laid out as SPSR_EL1 */
	uint64_t sp_el0, sp_el1;
	uint64_t elr_el1, spsr_el1; /* what the last exception taken to EL1 has saved */
	uint64_t sctlr, tcr, ttbr0, ttbr1; /* SCTLR_EL1, TCR_EL1, TTBR0_EL1, TTBR1_EL1 */
};
#define REGISTERS_ARM64_BYTES (41 * sizeof(uint64_t))
_Static_assert(sizeof(struct registers_arm64) == REGISTERS_ARM64_BYTES, "recording format");

#define REGISTER_ARM64_GO_G 28 /* register with the running goroutine's struct g in Go's code */
#define REGISTER_ARM64_FP 29
#define REGISTER_ARM64_LR 30

/*
 * PSTATE as in SPSR_EL1 (Arm ARM, SPSR_EL1): bits 3..0 are M, of which 3..2 are the exception level
 * and 0 tells which stack pointer is used; bit 4 is set in AArch32 state.
 */
#define PSTATE_ARM64_SP_ELX  (1ULL << 0)
#define PSTATE_ARM64_EL      (3ULL << 2)
#define PSTATE_ARM64_MODE    (15ULL << 0)
#define PSTATE_ARM64_AARCH32 (1ULL << 4)

#define SCTLR_ARM64_M (1ULL << 0) /* the MMU is on (Arm ARM, SCTLR_EL1) */

/*
 * Whether PSTATE is that of user code. In AArch32 state bits 3..0 are the mode, and 0 is usr
 * (vcpu_arm32.h).
 */
static inline bool pstate_arm64_is_user(uint64_t pstate)
{
	return !(pstate & (pstate & PSTATE_ARM64_AARCH32 ? PSTATE_ARM64_MODE : PSTATE_ARM64_EL));
}

/* The stack pointer of a vCPU in AArch64 state. */
static inline uint64_t registers_arm64_sp(const struct registers_arm64 *regs)
{
	return regs->pstate & PSTATE_ARM64_SP_ELX ? regs->sp_el1 : regs->sp_el0;
}

/*
 * Fields of TCR_EL1 (Arm ARM, TCR_EL1). Those of the upper half are like those of the lower half.
 *
 *   59 DS   34..32 IPS   31..30 TG1   23 EPD1   21..16 T1SZ   15..14 TG0   7 EPD0   5..0 T0SZ
 *
 *   TxSZ  a half has 2^(64 - TxSZ) addresses     EPDx  walks of that half are off
 *   TG0   0 4 KiB, 1 64 KiB, 2 16 KiB            TG1   1 16 KiB, 2 4 KiB, 3 64 KiB
 *   DS    52-bit addresses with 4 and 16 KiB     IPS   6: 52-bit physical addresses
 */
#define TCR_ARM64_T0SZ_SHIFT 0
#define TCR_ARM64_EPD0_SHIFT 7
#define TCR_ARM64_TG0_SHIFT  14
#define TCR_ARM64_T1SZ_SHIFT 16
#define TCR_ARM64_EPD1_SHIFT 23
#define TCR_ARM64_TG1_SHIFT  30
#define TCR_ARM64_IPS_SHIFT  32
#define TCR_ARM64_DS_SHIFT   59
#define TCR_ARM64_IPS_52     6

#define ROOT_ARM64_TABLE 0x0000ffffffffffffULL /* TTBRx_EL1: bits 63..48 are the ASID */
#define ROOT_ARM64_CNP   1ULL                  /* TTBRx_EL1: CnP, no part of the address */
#define ROOT_ARM64       0x80                  /* value of struct memory_root's last byte */

/*
 * The form of struct memory_root on arm64: the tables of both halves of the address space, and
 * their fields of TCR. `kind` is in the place of x86's `width`. vcpu_arm32.h fills in this struct
 * for a 32-bit kernel.
 */
struct root_arm64 {
	uint64_t table0 : 48;   /* TTBR0_EL1 */
	uint64_t size0 : 6;     /* T0SZ */
	uint64_t granule0 : 2;  /* TG0 */
	uint64_t off0 : 1;      /* EPD0 */
	uint64_t off1 : 1;      /* EPD1 */
	uint64_t ds : 1;        /* DS */
	uint64_t is_wide : 1;   /* IPS is TCR_ARM64_IPS_52 */
	uint64_t is_long : 1;   /* ROOT_ARM32: descriptors have 8 bytes */
	uint64_t unused : 3;
	uint64_t table1 : 48;   /* TTBR1_EL1 */
	uint64_t size1 : 6;     /* T1SZ */
	uint64_t granule1 : 2;  /* TG1 */
	uint64_t kind : 8;      /* ROOT_ARM64, or ROOT_ARM32 */
};

static inline struct root_arm64 root_arm64(const struct registers_arm64 *regs)
{
	uint64_t tcr = regs->tcr;

	return (struct root_arm64){
		.table0 = regs->ttbr0 & ROOT_ARM64_TABLE,
		.size0 = tcr >> TCR_ARM64_T0SZ_SHIFT & 0x3f,
		.granule0 = tcr >> TCR_ARM64_TG0_SHIFT & 3,
		.off0 = tcr >> TCR_ARM64_EPD0_SHIFT & 1,
		.off1 = tcr >> TCR_ARM64_EPD1_SHIFT & 1,
		.ds = tcr >> TCR_ARM64_DS_SHIFT & 1,
		.is_wide = (tcr >> TCR_ARM64_IPS_SHIFT & 7) == TCR_ARM64_IPS_52,
		.table1 = regs->ttbr1 & ROOT_ARM64_TABLE,
		.size1 = tcr >> TCR_ARM64_T1SZ_SHIFT & 0x3f,
		.granule1 = tcr >> TCR_ARM64_TG1_SHIFT & 3,
		.kind = ROOT_ARM64,
	};
}

/*
 * The granule of the upper half's tables (TCR_EL1.TG1, Arm ARM) is the page of a Linux kernel. The
 * reserved value of TG1 counts as 4 KiB.
 */
static inline unsigned root_arm64_page_shift(struct root_arm64 root)
{
	static const uint8_t shifts[] = { 12, 14, 12, 16 };

	return shifts[root.granule1];
}

/* Sets the page tables of REGS so that walk_root() of REGS is ROOT. */
static inline void registers_arm64_set_root(struct registers_arm64 *regs, struct root_arm64 root)
{
	regs->ttbr0 = root.table0;
	regs->ttbr1 = root.table1;
	regs->tcr = (uint64_t)root.size0 << TCR_ARM64_T0SZ_SHIFT |
		    (uint64_t)root.off0 << TCR_ARM64_EPD0_SHIFT |
		    (uint64_t)root.granule0 << TCR_ARM64_TG0_SHIFT |
		    (uint64_t)root.size1 << TCR_ARM64_T1SZ_SHIFT |
		    (uint64_t)root.off1 << TCR_ARM64_EPD1_SHIFT |
		    (uint64_t)root.granule1 << TCR_ARM64_TG1_SHIFT |
		    (root.is_wide ? (uint64_t)TCR_ARM64_IPS_52 : 0) << TCR_ARM64_IPS_SHIFT |
		    (uint64_t)root.ds << TCR_ARM64_DS_SHIFT;
}

/*
 * Linux's struct pt_regs, which ends a task's stack, as words (Linux arch/arm64/include/asm/
 * ptrace.h, from v5.10; seen in 6.1 and 6.12). The words up to pstate are older. `stackframe` is a
 * frame record: the chain of frame pointers leads to it.
 *
 *   from    words    stackframe         user code entered   the kernel was interrupted
 *   v5.10   42       at 38              { 0, 0 }            { x29, pc }
 *   v6.13   42, 40   at 37, and a type  { 0, 0 }, 1         { 0, 0 }, 2
 *
 * (struct frame_record_meta, asm/stacktrace/frame.h.)
 */
enum pt_regs_arm64_word {
	PT_ARM64_X0,
	PT_ARM64_X13 = 13,
	PT_ARM64_X29 = 29,
	PT_ARM64_SP = 31,
	PT_ARM64_PC,
	PT_ARM64_PSTATE,
	PT_ARM64_ORIG_X0,
	PT_ARM64_SYSCALL, /* s32; -1: no system call */
	PT_ARM64_STACKFRAME_TYPED = 37,
	PT_ARM64_STACKFRAME = 38,
	N_PT_ARM64 = 40 /* words that are read */
};
#define PT_ARM64_BYTES       (8 * 42) /* size of struct pt_regs, unless BTF tells another one */
#define PT_ARM64_BYTES_LEAST (8 * N_PT_ARM64)
#define PT_ARM64_AT(word)    (8 * (word)) /* byte offset */

/* Whether PSTATE, as saved, is that of AArch64 user code: all of M and bit 4 are clear. */
static inline bool pstate_arm64_is_user64(uint64_t pstate)
{
	return !(pstate & 0x1f) && !(pstate >> 32);
}

/* Whether PSTATE is that of AArch32 user code, mode usr. */
static inline bool pstate_arm64_is_user32(uint64_t pstate)
{
	return (pstate & 0x1f) == PSTATE_ARM64_AARCH32 && !(pstate >> 32);
}

/* Whether the last exception that was taken to EL1 came from user code. */
static inline bool registers_arm64_came_from_user(const struct registers_arm64 *regs)
{
	return (pstate_arm64_is_user64(regs->spsr_el1) || pstate_arm64_is_user32(regs->spsr_el1)) &&
	       !(regs->elr_el1 >> 63);
}

/*
 * For a vCPU in the kernel just after user code has entered it, or just before user code goes on:
 * whether the user's registers are in the struct pt_regs at SP_EL1, and not in REGS. SAVED_PC is
 * the pc in this pt_regs. SP_EL0 is the user's. The kernel saves them all, then clears x0 to x29,
 * and saves the pc last (Linux arch/arm64/kernel/entry.S, kernel_entry, clear_gp_regs). If the pc
 * is there already, the kernel is about to go back, or an earlier entry was from the same
 * instruction. On the way back SP_EL0 is restored before ELR_EL1, which may still be the address of
 * interrupted kernel code (kernel_exit).
 */
static inline bool registers_arm64_are_saved(const struct registers_arm64 *regs, uint64_t saved_pc)
{
	return !regs->x[PT_ARM64_X13] || saved_pc == regs->elr_el1 ||
	       !registers_arm64_came_from_user(regs);
}

/*
 * The word of struct pt_regs that is the stack pointer of user code with PSTATE. AArch32's stack
 * pointer is x13; SP_EL0 has no meaning in AArch32 state (Arm ARM §D1.20.1).
 */
static inline enum pt_regs_arm64_word pt_regs_arm64_sp(uint64_t pstate)
{
	return pstate_arm64_is_user32(pstate) ? PT_ARM64_X13 : PT_ARM64_SP;
}

#endif
