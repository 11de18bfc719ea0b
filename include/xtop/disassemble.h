/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code as text, for people: one instruction at a time. disassemble_x86.c does it for x86-64
 * and i386 with Zydis. The bytes are a guest's, and hostile. Any thread; pure functions.
 */
#ifndef XTOP_DISASSEMBLE_H
#define XTOP_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that begin with an instruction. What follows it does not matter. */
struct code {
	const uint8_t *bytes;
	size_t n; /* not 0 */
	uint64_t address;
	uint8_t word_bytes; /* 8: 64-bit code; 4: 32-bit code (registers_word_bytes()) */
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

struct code_step disassemble_step(const struct code *code);

enum code_syntax { SYNTAX_ATT, SYNTAX_INTEL };

#define DISASSEMBLE_TEXT_BYTES 160
/*
 * The instruction as GNU's objdump writes it, as far as doc/DESIGN §17 says. "(bad)" if there is
 * none. Targets are absolute addresses.
 */
void disassemble_print(const struct code *code, enum code_syntax syntax,
		       char text[DISASSEMBLE_TEXT_BYTES]);

#endif
