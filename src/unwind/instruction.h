/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One machine instruction, as far as unwinding needs it: what it does to the stack pointer and to
 * the registers that a function preserves, and where control goes. instruction_x86.c decodes x86-64
 * with Zydis; instruction_arm64.c decodes A64, and numbers its registers in its own way. The bytes
 * are a guest's, and hostile. Any thread; pure functions.
 */
#ifndef XTOP_UNWIND_INSTRUCTION_H
#define XTOP_UNWIND_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cursor.h"

#define REG_NONE N_UNWIND_REGISTERS

enum instruction_effect {
	EFFECT_LOSE,  /* the registers in `lost` get values that are not known */
	EFFECT_PUSH,  /* `size` bytes of SOURCE; REG_NONE: of something else */
	EFFECT_POP,   /* the same, into DEST */
	EFFECT_ADD,   /* dest = source + value: mov, add, sub, lea */
	EFFECT_ALIGN, /* dest becomes an aligned address below its source; x86: dest &= value */
	EFFECT_STORE, /* the word at dest + value = source; then dest += `moves` */
	EFFECT_LOAD,  /* dest = the word at source + value; then source += `moves` */
	EFFECT_NUMBER, /* dest = value */
	EFFECT_MOVE,  /* dest += value * the number in source; value: 1 or -1 */
	EFFECT_LEAVE, /* sp = frame pointer; then the frame pointer is popped */
};

enum instruction_flow {
	FLOW_NEXT,
	FLOW_CALL,     /* returns to the next instruction, or never */
	FLOW_TRAP,     /* raises an exception; its handler returns to the next, or never */
	FLOW_BRANCH,   /* to the target or to the next */
	FLOW_JUMP,     /* to the target */
	FLOW_INDIRECT, /* a jump to an address in a register or in memory */
	FLOW_RETURN,
	FLOW_END,      /* leaves this code: iret, sysret, a far jump */
};

struct instruction {
	/*
	 * FLOW_CALL, FLOW_BRANCH, FLOW_JUMP: the address where control goes. FLOW_INDIRECT: the
	 * address of the word that has the target. 0: not known.
	 */
	uint64_t target;
	int32_t value;
	int32_t moves;   /* EFFECT_STORE, EFFECT_LOAD on arm64: added to the base register */
	uint32_t lost;   /* bit enum unwind_register: written in a way that is not followed */
	uint8_t length;  /* bytes */
	uint8_t effect, flow;
	uint8_t dest, source; /* enum unwind_register */
	uint8_t size;
	uint8_t second; /* with `pair`: stored or loaded at the word behind */
	bool pair;
	bool tail;     /* FLOW_INDIRECT: leads to another function */
	bool compares; /* SOURCE with the stack pointer: a branch behind it can tell that they are
			* equal */
	bool begins;   /* sets the frame pointer to 0, or the stack pointer to a fixed place */
	bool marks_target; /* endbr64, bti: calls and jumps by a register may lead here */
	bool filler;   /* does nothing, and stands between functions */
};

/* False: the N bytes at BYTES, which lie at ADDRESS, begin with no instruction. */
bool instruction_x86_decode(const uint8_t *bytes, size_t n, uint64_t address,
			    struct instruction *instruction);
bool instruction_arm64_decode(const uint8_t *bytes, size_t n, uint64_t address,
			      struct instruction *instruction);
/*
 * Whether a jump may lead to the second byte of the instruction in the N bytes at BYTES: it then
 * skips a prefix. On x86.
 */
bool instruction_skips_prefix(const uint8_t *bytes, size_t n);

#define INSTRUCTION_MAX_CALL_BYTES 7 /* a prefix, an opcode, ModRM, SIB and a displacement */
/* Whether the bytes may end in a call instruction. */
bool instruction_x86_ends_call(const uint8_t bytes[INSTRUCTION_MAX_CALL_BYTES]);
bool instruction_arm64_ends_call(const uint8_t bytes[INSTRUCTION_MAX_CALL_BYTES]);

/* Registers that a called function may change, on x86. */
extern const uint32_t instruction_call_lost;

#endif
