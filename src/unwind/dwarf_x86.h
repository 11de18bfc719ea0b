/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libunwind's numbers for x86-64's registers. Only dwarf.c includes this, after <libunwind.h>. */
#ifndef XTOP_UNWIND_DWARF_X86_H
#define XTOP_UNWIND_DWARF_X86_H

#include <libunwind.h>

#include "unwind/register_numbers.h"

#define DWARF_PC UNW_X86_64_RIP

static const enum unwind_register dwarf_registers[] = {
	[UNW_X86_64_RAX] = REG_RAX, [UNW_X86_64_RDX] = REG_RDX, [UNW_X86_64_RCX] = REG_RCX,
	[UNW_X86_64_RBX] = REG_RBX, [UNW_X86_64_RSI] = REG_RSI, [UNW_X86_64_RDI] = REG_RDI,
	[UNW_X86_64_RBP] = REG_RBP, [UNW_X86_64_RSP] = REG_RSP, [UNW_X86_64_R8] = REG_R8,
	[UNW_X86_64_R9] = REG_R9,   [UNW_X86_64_R10] = REG_R10, [UNW_X86_64_R11] = REG_R11,
	[UNW_X86_64_R12] = REG_R12, [UNW_X86_64_R13] = REG_R13, [UNW_X86_64_R14] = REG_R14,
	[UNW_X86_64_R15] = REG_R15,
};
#define N_DWARF_REGISTERS ((int)(sizeof(dwarf_registers) / sizeof(dwarf_registers[0])))

#endif
