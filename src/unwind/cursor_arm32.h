/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a cursor in 32-bit Arm code, below a kernel of 32 or of 64 bits. pc, sp, lr and
 * r11, the frame pointer of ARM code, have the numbers of cursor_arm64.h. Its arch is ARCH_ARM64,
 * and its words have 4 bytes.
 */
#ifndef XTOP_UNWIND_CURSOR_ARM32_H
#define XTOP_UNWIND_CURSOR_ARM32_H

#include "unwind/cursor.h"
#include "unwind/cursor_arm64.h"

#define REG_ARM32_R7  11 /* frame pointer of Thumb code */
#define REG_ARM32_R11 REG_ARM64_FP
#define REG_ARM32_LR  REG_ARM64_LR

#define ARM32_THUMB 1ULL /* of a code address that is branched to: Thumb code is there */

/* r0 to r14 -> number in cursor->regs. */
static const uint8_t cursor_arm32_registers[N_REGISTERS_ARM32] = {
	0, 1, 2, 3, 4, 5, 13, REG_ARM32_R7, 8, 9, 10, REG_ARM32_R11, 12, REG_SP, REG_ARM32_LR,
};

/* As cursor_init(), for a vCPU with registers_runs_arm32(). */
void cursor_arm32_init(struct cursor *cursor, const struct sample_vcpu *vcpu);

/*
 * The words of Linux's struct pt_regs: r0 to r12, sp, lr, pc, CPSR; then r0 as the system call had
 * it (Linux arch/arm/include/asm/ptrace.h).
 */
#define PT_ARM32_SP    13
#define PT_ARM32_PC    15
#define PT_ARM32_CPSR  16
#define PT_ARM32_WORDS 17 /* that are read */
#define PT_ARM32_BYTES 72

/* Sets all registers from the first PT_ARM32_WORDS of a struct pt_regs. */
void cursor_arm32_set(struct cursor *cursor, const uint64_t *words);

/*
 * The cursor becomes that of 32-bit user code, whose registers a kernel of 64 bits has saved in
 * SAVED, a struct pt_regs (vcpu_arm64.h).
 */
void cursor_arm32_set_saved(struct cursor *cursor, const uint64_t *saved);

static inline bool cursor_is_arm32(const struct cursor *cursor)
{
	return cursor->arch == ARCH_ARM64 && cursor->word_bytes == sizeof(uint32_t);
}

/* Goes to ADDRESS, which is a return address or another value for pc. */
static inline void cursor_arm32_go_to(struct cursor *cursor, uint64_t address)
{
	cursor->thumb = address & ARM32_THUMB;
	cursor->regs[REG_PC] = address & ~ARM32_THUMB;
}

#endif
