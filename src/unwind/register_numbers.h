/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a cursor (cursor.h) and rules (cfi_table.h) number the registers of x86-64. REG_PC and REG_SP
 * have the same numbers on all architectures; the other numbers of arm64 and of 32-bit Arm are in
 * cursor_arm64.h and cursor_arm32.h.
 */
#ifndef XTOP_UNWIND_REGISTER_NUMBERS_H
#define XTOP_UNWIND_REGISTER_NUMBERS_H

#include <stdint.h>

/* The order of struct registers. */
enum unwind_register {
	REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
	REG_RIP,
	N_UNWIND_REGISTERS,

	REG_PC = REG_RIP,
	REG_SP = REG_RSP,
};

/* The number of a register in instructions -> enum unwind_register. */
static const uint8_t register_numbers[16] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

#endif
