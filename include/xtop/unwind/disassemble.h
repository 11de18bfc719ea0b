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

/* Bytes that begin with an instruction. The bytes after that instruction do not matter. */
struct code {
	const uint8_t *bytes;
	size_t n;           /* number of bytes; at least 1 */
	uint64_t address;   /* address of bytes[0] */
	uint8_t word_bytes; /* 8: 64-bit code; 4: 32-bit code (registers_word_bytes()) */
	uint8_t arch;       /* enum guest_arch */
};

enum code_flow {
	CODE_NEXT, /* the next instruction follows, if any */
	CODE_CALL,
	CODE_JUMP,     /* control always goes to the target */
	CODE_BRANCH,   /* control goes to the target or to the next instruction */
	CODE_INDIRECT, /* control always goes to an address in a register or in memory */
	CODE_RETURN,   /* also from an exception or to user code: iret, sysret, eret */
};

/* What one instruction does to the flow of control. */
struct code_step {
	uint64_t target; /* target of CODE_CALL, CODE_JUMP or CODE_BRANCH; 0: unknown */
	uint8_t length;  /* length of the instruction in bytes; at least 1 */
	uint8_t flow;    /* enum code_flow */
	bool bad;        /* no instruction begins here; the step skips one byte */
};

struct code_step disassemble_x86_step(const struct code *code);
struct code_step disassemble_arm64_step(const struct code *code);

static inline struct code_step disassemble_step(const struct code *code)
{
	return code->arch == ARCH_ARM64 ? disassemble_arm64_step(code) : disassemble_x86_step(code);
}

enum code_syntax { SYNTAX_ATT, SYNTAX_INTEL }; /* x86 only; arm64 has one syntax */

#define DISASSEMBLE_TEXT_BYTES 160
void disassemble_x86_print(const struct code *code, enum code_syntax syntax,
			   char text[DISASSEMBLE_TEXT_BYTES]);
void disassemble_arm64_print(const struct code *code, char text[DISASSEMBLE_TEXT_BYTES]);
/*
 * Loads the library Capstone now instead of at the first arm64 instruction. A process calls this
 * before it enters the sandbox, because no code can be mapped in there. Returns false if Capstone
 * is not installed; most arm64 instructions are then printed as ".inst" and a number.
 */
bool disassemble_arm64_load(void);

/*
 * Writes the instruction as GNU's objdump does; disassemble_x86.c and disassemble_arm64.c list the
 * differences. "(bad)" if no instruction begins at CODE. Targets are absolute addresses. The target
 * of a call or jump is the last operand, and no other operand of a call or jump contains "0x".
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
