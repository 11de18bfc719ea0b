/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How struct instruction numbers the registers of arm64. Unwinding needs the registers that a
 * function preserves, sp, and a few registers for copies of sp. Only these have a number, so that a
 * state has no more registers than on x86-64 (computed_state.h). A cursor has other numbers
 * (cursor_arm64.h).
 */
#ifndef XTOP_UNWIND_INSTRUCTION_ARM64_H
#define XTOP_UNWIND_INSTRUCTION_ARM64_H

#include "unwind/cursor_arm64.h"
#include "unwind/instruction.h"

enum code_arm64_register {
	CODE_ARM64_X19, CODE_ARM64_X20, CODE_ARM64_X21, CODE_ARM64_X22, CODE_ARM64_X23,
	CODE_ARM64_X24,
	CODE_ARM64_FP, /* x29 */
	CODE_ARM64_SP,
	CODE_ARM64_X25, CODE_ARM64_X26, CODE_ARM64_X27, CODE_ARM64_X28,
	CODE_ARM64_LR, /* x30 */
	CODE_ARM64_X12, CODE_ARM64_X13, /* gcc puts the size of a large frame here */
	CODE_ARM64_X16,
	N_CODE_ARM64,
};
_Static_assert((int)CODE_ARM64_FP == REG_ARM64_FP && (int)CODE_ARM64_SP == REG_SP &&
		       (int)N_CODE_ARM64 == REG_PC,
	       "code for both architectures uses REG_RBP, REG_SP and REG_PC");

#endif
