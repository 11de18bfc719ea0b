/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One machine instruction, as far as unwinding needs it: what the instruction does to the stack
 * pointer and to the registers that a function preserves, and where control goes. instruction_x86.c
 * decodes x86-64. instruction_arm64.c decodes A64; instruction_arm64.h has its register numbers.
 * The bytes are a guest's, and hostile. Any thread; pure functions.
 */
#ifndef XTOP_UNWIND_INSTRUCTION_H
#define XTOP_UNWIND_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cursor.h"

#define REG_NONE N_UNWIND_REGISTERS

enum instruction_effect {
	EFFECT_LOSE,  /* the registers in `lost` get unknown values */
	EFFECT_PUSH,  /* pushes `size` bytes of source; REG_NONE: an unknown value */
	EFFECT_POP,   /* pops `size` bytes into dest; REG_NONE: they are dropped */
	EFFECT_ADD,   /* dest = source + value: mov, add, sub, lea */
	EFFECT_ALIGN, /* dest becomes an aligned address; on x86 dest &= value */
	EFFECT_STORE, /* the word at dest + value = source; then dest += `moves` */
	EFFECT_LOAD,  /* dest = the word at source + value; then source += `moves` */
	EFFECT_NUMBER, /* dest = value */
	EFFECT_MOVE,  /* dest += value * source; value is 1 or -1 */
	EFFECT_LEAVE, /* sp = frame pointer; then the frame pointer is popped */
};

enum instruction_flow {
	INSTRUCTION_NEXT,
	INSTRUCTION_CALL, /* a call, which returns to the next instruction, or never */
	/* an exception; the handler returns to the next instruction, or never */
	INSTRUCTION_TRAP,
	INSTRUCTION_BRANCH,   /* goes to the target or to the next instruction */
	INSTRUCTION_JUMP,     /* goes to the target */
	INSTRUCTION_INDIRECT, /* goes to an address in a register or in memory */
	INSTRUCTION_RETURN,
	INSTRUCTION_END, /* leaves this code: iret, sysret, a far jump */
};

struct instruction {
	/*
	 * INSTRUCTION_CALL, INSTRUCTION_BRANCH, INSTRUCTION_JUMP: the address where control goes.
	 * INSTRUCTION_INDIRECT: the address of the word that has the target. 0: unknown.
	 */
	uint64_t target;
	int32_t value;
	int32_t moves;   /* EFFECT_STORE, EFFECT_LOAD on arm64: added to the base register */
	uint32_t lost;   /* bit i: register i (enum unwind_register) gets an unknown value */
	uint8_t length;  /* length of the instruction in bytes */
	uint8_t effect;  /* enum instruction_effect */
	uint8_t flow;    /* enum instruction_flow */
	uint8_t dest, source; /* enum unwind_register or enum code_arm64_register, or REG_NONE */
	uint8_t size;    /* how many bytes EFFECT_PUSH or EFFECT_POP moves */
	uint8_t second;  /* the register that `pair` stores or loads at the next word */
	bool pair;       /* EFFECT_STORE, EFFECT_LOAD: two registers are stored or loaded */
	bool tail;       /* INSTRUCTION_INDIRECT: the jump leads to another function */
	bool by_link;    /* INSTRUCTION_INDIRECT, INSTRUCTION_RETURN: goes to the address in x30 */
	bool compares;   /* compares source with the stack pointer */
	bool begins;     /* sets the frame pointer to 0, or the stack pointer to a fixed address */
	bool marks_target; /* endbr64, bti: calls and jumps by a register may lead here */
	bool filler;     /* does nothing, and fills the space between functions */
};

/* Decodes the instruction that lies at ADDRESS, in N BYTES. Returns false if there is none. */
bool instruction_x86_decode(const uint8_t *bytes, size_t n, uint64_t address,
			    struct instruction *instruction);
bool instruction_arm64_decode(const uint8_t *bytes, size_t n, uint64_t address,
			      struct instruction *instruction);
/*
 * Whether a jump may lead to the second byte of the x86 instruction in N BYTES, to skip a prefix.
 */
bool instruction_skips_prefix(const uint8_t *bytes, size_t n);

#define INSTRUCTION_MAX_CALL_BYTES 7 /* a prefix, an opcode, ModRM, SIB and a displacement */
/* Whether BYTES may end with a call instruction. */
bool instruction_x86_ends_call(const uint8_t bytes[INSTRUCTION_MAX_CALL_BYTES]);
bool instruction_arm64_ends_call(const uint8_t bytes[INSTRUCTION_MAX_CALL_BYTES]);

/* Bit i: a called function may change register i (enum unwind_register), on x86. */
extern const uint32_t instruction_call_lost;

#endif
