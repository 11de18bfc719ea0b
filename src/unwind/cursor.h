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
#include <string.h>

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
	const struct sample_stack *piece; /* of it, read last; NULL: it has none */
	unsigned piece_index;
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
/* Takes the first of the copied pieces that has all of it as cursor->piece; false: none has. */
bool cursor_find_piece(struct cursor *cursor, uint64_t address, size_t size_bytes);
/* The piece that ADDRESS lies in or just behind; -1: none. */
int cursor_piece(const struct cursor *cursor, uint64_t address);

/* Whether cursor->piece has all of it. */
static inline bool cursor_piece_has(const struct cursor *cursor, uint64_t address,
				    size_t size_bytes)
{
	uint64_t offset = address - cursor->piece->address;

	return offset < cursor->piece->size_bytes &&
	       cursor->piece->size_bytes - offset >= size_bytes;
}

/*
 * The bytes in place, not aligned; raises cursor->reached. NULL: not all were copied. Inline, since
 * a frame is two or three of these, nearly always in the piece of the one before.
 */
static inline const void *cursor_bytes(struct cursor *cursor, uint64_t address, size_t size_bytes)
{
	uint64_t *reached;

	if ((!cursor->piece || !cursor_piece_has(cursor, address, size_bytes)) &&
	    !cursor_find_piece(cursor, address, size_bytes))
		return NULL;
	reached = &cursor->reached[cursor->piece_index];
	if (address + size_bytes > *reached)
		*reached = address + size_bytes;
	return (const char *)(cursor->piece + 1) + (address - cursor->piece->address);
}

/* N words at ADDRESS. False: not all were copied. */
static inline bool cursor_read(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n)
{
	const void *bytes = cursor_bytes(cursor, address, n * sizeof(*words));

	if (bytes)
		memcpy(words, bytes, n * sizeof(*words));
	return bytes;
}

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
