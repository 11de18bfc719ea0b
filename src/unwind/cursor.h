/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step of unwinding: from the registers of a frame to those of its caller. Each mechanism (orc.c,
 * cfi.c, dwarf.c, fp.c) has a step function with this shape; unwind.c chooses one for each frame,
 * checks that the walk goes outwards and records the frames.
 *
 * Pure functions of the cursor, the copied bytes and the tables: no memory of the guest is read.
 */
#ifndef XTOP_UNWIND_CURSOR_H
#define XTOP_UNWIND_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/sample.h"

/* Numbered as struct registers has them. */
enum unwind_register {
	REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
	REG_RIP,
	N_UNWIND_REGISTERS
};

struct cursor {
	uint64_t regs[N_UNWIND_REGISTERS];
	uint32_t known;   /* bit i: regs[i] is this frame's; RIP and RSP always are */
	bool interrupted; /* rip is the next instruction to run; else a return address: look up rip - 1 */
	bool user;        /* user code */
	uint64_t reached[SAMPLE_MAX_STACKS]; /* by piece: address just past the outermost byte read; 0: none */
	const struct sample_vcpu *vcpu; /* passed sample_check() */
};

enum unwind_step {
	STEP_CALLER,      /* the cursor is the caller's now */
	STEP_USER,        /* it is the user code's that entered the kernel: all registers known */
	STEP_OUTERMOST,   /* there is no caller */
	STEP_NOT_COVERED, /* this mechanism has nothing for the address: try the next */
	STEP_CUT,         /* stack bytes that were not copied */
	STEP_BAD,         /* a table or a register that cannot be right */
	STEP_LOOP,        /* the caller's frame would lie further in */
	STEP_REPLACED,    /* a tracer put its own return address in the place of the caller's */
};

/* --- cursor.c --------------------------------------------------------------------------------- */

/* From a vCPU's registers: all are known, and rip is the next instruction. */
void cursor_init(struct cursor *cursor, const struct sample_vcpu *vcpu);
/* N words at ADDRESS out of the copied pieces; raises cursor->reached. False: not all were copied. */
bool cursor_read(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n);
/* The same in place, not aligned; NULL: not all were copied. */
const void *cursor_bytes(struct cursor *cursor, uint64_t address, size_t size_bytes);
/* The piece that ADDRESS lies in or just behind; -1: none. */
int cursor_piece(const struct cursor *cursor, uint64_t address);

#define CURSOR_KNOWS_ALL ((1U << N_UNWIND_REGISTERS) - 1)

/*
 * A step function leaves registers, known, interrupted and user as they are unless it returns
 * STEP_CALLER or STEP_USER: another mechanism may be tried.
 */

/* The address a table is asked for. */
static inline uint64_t cursor_pc(const struct cursor *cursor)
{
	return cursor->regs[REG_RIP] - !cursor->interrupted;
}

#endif
