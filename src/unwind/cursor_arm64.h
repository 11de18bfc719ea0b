/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a cursor on arm64. The numbers of pc, sp and the frame pointer are those of
 * x86-64 (cursor_x86.h), so that code for all architectures says REG_PC and REG_SP. x18 is not
 * kept: it belongs to the platform, and no caller is found by it.
 */
#ifndef XTOP_UNWIND_CURSOR_ARM64_H
#define XTOP_UNWIND_CURSOR_ARM64_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cursor_x86.h"

#define REG_ARM64_FP 6  /* x29 */
#define REG_ARM64_LR 31 /* x30 */

_Static_assert(REG_RBP == REG_ARM64_FP && REG_SP == 7 && REG_PC == 16, "the same numbers");

#define CURSOR_ARM64_NONE 0xff

/* x0..x30 -> number in cursor->regs. */
static const uint8_t cursor_arm64_registers[] = {
	0,  1,  2,  3,  4,  5,  8,  9,  10, 11, 12, 13, 14, 15, 17, 18, 19, 20, CURSOR_ARM64_NONE,
	21, 22, 23, 24, 25, 26, 27, 28, 29, 30, REG_ARM64_FP, REG_ARM64_LR,
};
_Static_assert(sizeof(cursor_arm64_registers) == 31, "x0 to x30");

struct cursor;
struct sample_vcpu;

/* As cursor_init(), for a vCPU of arm64. */
void cursor_arm64_init(struct cursor *cursor, const struct sample_vcpu *vcpu);

/*
 * A return ADDRESS without the authentication code that pointer authentication (PAC) puts into its
 * upper bits. Bit 55 tells the half, and the bits above the translated ones repeat it (Arm ARM DDI
 * 0487J.a §D8.8, AddPAC).
 */
uint64_t cursor_arm64_strip(const struct cursor *cursor, uint64_t address);

/*
 * From the code that a signal's handler returns to, with the stack pointer at Linux's signal frame,
 * to the code that was interrupted; all its registers are known. False: there is no such frame.
 */
bool cursor_arm64_leave_signal(struct cursor *cursor);

#endif
