/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code as text, for people: one instruction at a time. disassemble_x86.c does it for x86-64
 * and i386 with Zydis, disassemble_arm64.c with Capstone. The bytes are a guest's, and hostile. Any
 * thread; pure functions.
 */
#ifndef XTOP_DISASSEMBLE_H
#define XTOP_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/vcpu.h"

/* Bytes that begin with an instruction. What follows it does not matter. */
struct code {
	const uint8_t *bytes;
	size_t n; /* not 0 */
	uint64_t address;
	uint8_t word_bytes; /* 8: 64-bit code; 4: 32-bit code (registers_word_bytes()) */
	uint8_t arch;       /* enum guest_arch */
};

enum code_flow {
	CODE_NEXT,   /* the next instruction follows, or nobody knows where control goes */
	CODE_CALL,
	CODE_JUMP,   /* always */
	CODE_BRANCH, /* or not */
};

struct code_step {
	uint64_t target; /* of CODE_CALL, CODE_JUMP and CODE_BRANCH; 0: not known */
	uint8_t length;  /* bytes; at least 1 */
	uint8_t flow;    /* enum code_flow */
	bool bad;        /* no instruction: one byte */
};

struct code_step disassemble_x86_step(const struct code *code);
struct code_step disassemble_arm64_step(const struct code *code);

static inline struct code_step disassemble_step(const struct code *code)
{
	return code->arch == ARCH_ARM64 ? disassemble_arm64_step(code) : disassemble_x86_step(code);
}

enum code_syntax { SYNTAX_ATT, SYNTAX_INTEL }; /* of x86 */

#define DISASSEMBLE_TEXT_BYTES 160
void disassemble_x86_print(const struct code *code, enum code_syntax syntax,
			   char text[DISASSEMBLE_TEXT_BYTES]);
void disassemble_arm64_print(const struct code *code, char text[DISASSEMBLE_TEXT_BYTES]);
/*
 * Loads Capstone, which the first instruction of arm64 else does: before a process enters the
 * sandbox, behind which it may map no code. False: Capstone is not there, and most instructions of
 * arm64 are ".inst" and a number.
 */
bool disassemble_arm64_load(void);

/*
 * Writes the instruction as GNU's objdump does, but for the differences that
 * tests/unwind/test_disassemble.c lists. "(bad)" if there is no instruction. Targets are absolute
 * addresses. The target of a call or jump is the last operand, and no other operand has "0x".
 */
static inline void disassemble_print(const struct code *code, enum code_syntax syntax,
				     char text[DISASSEMBLE_TEXT_BYTES])
{
	if (code->arch == ARCH_ARM64)
		disassemble_arm64_print(code, text);
	else
		disassemble_x86_print(code, syntax, text);
}

#endif
