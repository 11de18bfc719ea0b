/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code as text, for people: one instruction at a time. disassemble_x86.c does it for x86-64
 * with Zydis. The bytes are a guest's, and hostile. Any thread; pure functions.
 */
#ifndef XTOP_DISASSEMBLE_H
#define XTOP_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* N is not 0. The instruction at BYTES, which lie at ADDRESS. Bytes after it do not matter. */
struct code_step disassemble_step(const uint8_t *bytes, size_t n, uint64_t address);

enum code_syntax { SYNTAX_ATT, SYNTAX_INTEL };

#define DISASSEMBLE_TEXT_BYTES 160
/*
 * The instruction as GNU's objdump writes it, as far as doc/DESIGN §17 says. "(bad)" if there is
 * none. Targets are absolute addresses.
 */
void disassemble_print(const uint8_t *bytes, size_t n, uint64_t address, enum code_syntax syntax,
		       char text[DISASSEMBLE_TEXT_BYTES]);

#endif
