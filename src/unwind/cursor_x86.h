/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of a cursor on x86-64. Another architecture defines the same names but those of
 * single registers: enum unwind_register, N_UNWIND_REGISTERS, REG_PC, REG_SP.
 */
#ifndef XTOP_UNWIND_CURSOR_X86_H
#define XTOP_UNWIND_CURSOR_X86_H

#include <stdbool.h>
#include <stdint.h>

/* Numbered as struct registers has them. */
enum unwind_register {
	REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
	REG_RIP,
	N_UNWIND_REGISTERS,

	REG_PC = REG_RIP,
	REG_SP = REG_RSP,
};

struct cursor;

/* The words that the processor saves, and that iret takes back: the last of struct pt_regs. */
enum iret_word { IRET_RIP, IRET_CS, IRET_RFLAGS, IRET_RSP, IRET_SS, N_IRET };

#define CS_PRIVILEGE 3 /* bits of a code selector: 0 in a kernel, 3 in user code */

/*
 * Sets all registers to those of SAVED, N_PT_REGS words of a struct pt_regs (registers_x86.h),
 * and nothing else but `known`.
 */
void cursor_set_pt_regs(struct cursor *cursor, const uint64_t *saved);
/*
 * Reads the struct pt_regs at ADDRESS into SAVED. Code that leaves the kernel pops it: words below
 * the stack pointer are in their registers again, but for the number of the system call, which is
 * dropped and reads as 0. False: the other words were not copied.
 */
bool cursor_read_pt_regs(struct cursor *cursor, uint64_t address, uint64_t *saved);

#endif
