/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a cursor on arm64. pc, sp and the frame pointer have the same numbers as on
 * x86-64 (register_numbers.h), so that code for all architectures uses REG_PC and REG_SP. A cursor
 * has no x18: the register belongs to the platform, and no caller is found by it.
 */
#ifndef XTOP_UNWIND_CURSOR_ARM64_H
#define XTOP_UNWIND_CURSOR_ARM64_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/register_numbers.h"

#define REG_ARM64_FP 6  /* x29 */
#define REG_ARM64_LR 31 /* x30 */

_Static_assert(REG_RBP == REG_ARM64_FP && REG_SP == 7 && REG_PC == 16, "equal on x86 and arm64");

#define CURSOR_ARM64_NONE 0xff

/* Register x0 to x30 and sp -> number in cursor->regs. */
static const uint8_t cursor_arm64_registers[] = {
	0,  1,  2,  3,  4,  5,  8,  9,  10, 11, 12, 13, 14, 15, 17, 18, 19, 20, CURSOR_ARM64_NONE,
	21, 22, 23, 24, 25, 26, 27, 28, 29, 30, REG_ARM64_FP, REG_ARM64_LR, REG_SP,
};
_Static_assert(sizeof(cursor_arm64_registers) == 32, "x0 to x30, and sp");

struct cursor;
struct registers_arm64;

/* cursor_init() for a vCPU of arm64. */
void cursor_arm64_init(struct cursor *cursor, const struct registers_arm64 *regs);

/*
 * Moves the cursor to interrupted code. SAVED has x0 to x30, sp and pc, in the order of struct
 * pt_regs (vcpu_arm64.h).
 */
void cursor_arm64_set(struct cursor *cursor, const uint64_t *saved);

/*
 * Returns ADDRESS, a return address, without its pointer authentication code (PAC). The code is in
 * the upper bits. Bit 55 tells which half of the address space ADDRESS is in. In an address without
 * a code, all bits above the translated bits equal bit 55 (Arm ARM DDI 0487J.a §D8.8, AddPAC).
 */
uint64_t cursor_arm64_strip(const struct cursor *cursor, uint64_t address);

/*
 * Moves the cursor from the code that a signal handler returns to, to the code that the signal
 * interrupted; all registers are known then. The stack pointer must point to Linux's signal frame.
 * Returns false if there is no signal frame.
 */
bool cursor_arm64_leave_signal(struct cursor *cursor);

#endif
