/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a cursor in 32-bit Arm code, with a kernel of 32 or of 64 bits. pc, sp, lr and
 * r11, the frame pointer of ARM code, have the same numbers as in cursor_arm64.h. The cursor's arch
 * is ARCH_ARM64, and its word_bytes is 4.
 */
#ifndef XTOP_UNWIND_CURSOR_ARM32_H
#define XTOP_UNWIND_CURSOR_ARM32_H

#include "unwind/cursor.h"
#include "unwind/cursor_arm64.h"

#define REG_ARM32_R7  11 /* frame pointer of Thumb code */
#define REG_ARM32_R11 REG_ARM64_FP
#define REG_ARM32_LR  REG_ARM64_LR

#define ARM32_THUMB 1ULL /* bit of a branch's target address: the target is Thumb code */

/* Register r0 to r14 -> number in cursor->regs. */
static const uint8_t cursor_arm32_registers[N_REGISTERS_ARM32] = {
	0, 1, 2, 3, 4, 5, 13, REG_ARM32_R7, 8, 9, 10, REG_ARM32_R11, 12, REG_SP, REG_ARM32_LR,
};

/* cursor_init() for a vCPU that runs 32-bit Arm code (registers_runs_arm32()). */
void cursor_arm32_init(struct cursor *cursor, const struct registers_arm64 *regs);

/*
 * The words of Linux's struct pt_regs: r0 to r12, sp, lr, pc, CPSR, and the system call's original
 * r0 (Linux arch/arm/include/asm/ptrace.h).
 */
#define PT_ARM32_SP    13
#define PT_ARM32_PC    15
#define PT_ARM32_CPSR  16
#define PT_ARM32_WORDS 17 /* words that xtop reads: all but the original r0 */
#define PT_ARM32_BYTES 72

/* Sets all registers from the first PT_ARM32_WORDS of a struct pt_regs. */
void cursor_arm32_set(struct cursor *cursor, const uint64_t *words);

/*
 * Moves the cursor to 32-bit user code under a 64-bit kernel. SAVED is the struct pt_regs
 * (vcpu_arm64.h) in which the kernel has saved the user code's registers.
 */
void cursor_arm32_set_saved(struct cursor *cursor, const uint64_t *saved);

static inline bool cursor_is_arm32(const struct cursor *cursor)
{
	return cursor->arch == ARCH_ARM64 && cursor->word_bytes == sizeof(uint32_t);
}

/* Sets pc to ADDRESS, which is a return address or another branch target. */
static inline void cursor_arm32_go_to(struct cursor *cursor, uint64_t address)
{
	cursor->thumb = address & ARM32_THUMB;
	cursor->regs[REG_PC] = address & ~ARM32_THUMB;
}

#endif
