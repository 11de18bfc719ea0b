/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of call-frame information that holds only for arm64 and 32-bit Arm: DWARF's register
 * numbers and the registers that a function preserves. On arm64, 0 to 30 are x0 to x30, 31 is sp,
 * 34 is RA_SIGN_STATE ("DWARF for the Arm 64-bit Architecture" §4.1), and x19 to x29 are preserved
 * (AAPCS64 §6.1.1). The other files read the numbers from struct cfi_machine.
 */
#ifndef XTOP_UNWIND_CFI_ARM64_H
#define XTOP_UNWIND_CFI_ARM64_H

#include "unwind/cfi_x86.h"

#define CFI_ARM64_FIRST_PRESERVED 19
#define CFI_ARM64_FP       29
#define CFI_ARM64_LR       30 /* the return address */
#define CFI_ARM64_SP       31
#define CFI_ARM64_NUMBERS  32
#define CFI_ARM64_PRESERVED  12 /* x30 and x19 to x29 */

/* 32-bit Arm: 0 to 15 are r0 to r15 (DWARF for the Arm Architecture §4.1; AAPCS32 §6.1.1). */
#define CFI_ARM32_SP      13
#define CFI_ARM32_LR      14 /* the return address */
#define CFI_ARM32_NUMBERS 16
#define CFI_ARM32_PRESERVED 9 /* lr and r4 to r11 */

#endif
