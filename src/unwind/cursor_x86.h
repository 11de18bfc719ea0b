/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers that an x86-64 Linux kernel and the processor save on the stack, in a cursor.
 */
#ifndef XTOP_UNWIND_CURSOR_X86_H
#define XTOP_UNWIND_CURSOR_X86_H

#include "unwind/cursor.h"

/* The words that the processor saves and iret restores: the last words of struct pt_regs. */
enum iret_word { IRET_RIP, IRET_CS, IRET_RFLAGS, IRET_RSP, IRET_SS, N_IRET };

#define CS_PRIVILEGE 3 /* bits of a code selector: 0 in a kernel, 3 in user code */

/* cursor_init() for a vCPU of x86. */
void cursor_x86_init(struct cursor *cursor, const struct registers *regs);

/*
 * Sets all registers and `known` from SAVED, N_PT_REGS words of a struct pt_regs (registers_x86.h).
 */
void cursor_set_pt_regs(struct cursor *cursor, const uint64_t *saved);
/*
 * Reads the struct pt_regs at ADDRESS into SAVED. Code that leaves the kernel pops the words of the
 * struct: words below the stack pointer are taken from the cursor's registers. The number of the
 * system call is popped into no register, and reads as 0. Returns false if the other words were not
 * copied.
 */
bool cursor_read_pt_regs(struct cursor *cursor, uint64_t address, uint64_t *saved);
/* Ends a step to interrupted code, which ran with the code selector CS. */
enum unwind_step cursor_resume(struct cursor *cursor, uint64_t cs);
/* A step to interrupted code. The processor saved five words at SP; BP is the code's rbp. */
enum unwind_step cursor_step_partial(struct cursor *cursor, uint64_t sp, uint64_t bp);

#endif
