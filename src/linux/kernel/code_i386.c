/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the instructions of i386 that access members; see code_i386.h:
 *
 *   64 8b 05+8*reg  s32     mov  %fs:ADDRESS, %reg; 64 a1 for %eax
 *      8b 40+8*to+reg  s8   mov  OFFSET(%reg), %to
 *      8b 80+8*to+reg  s32  mov  OFFSET(%reg), %to
 *      OPCODE 80+8*to+reg s32
 *
 * Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/code_i386.h"

#define CODE_ESP 4 /* number of ESP: as a base register, ESP needs a SIB byte */

bool code_i386_read(const struct linux_guest *guest, enum linux_symbol function, size_t size_bytes,
		    struct code_i386 *code)
{
	code->at = 0;
	code->end = size_bytes;
	return size_bytes <= sizeof(code->bytes) &&
	       linux_read_function(guest, function, code->bytes, size_bytes);
}

int code_i386_find_current(struct code_i386 *code, uint32_t current)
{
	for (; code->at + 7 <= code->end; code->at++) {
		const uint8_t *bytes = code->bytes + code->at;

		if (bytes[0] != 0x64)
			continue;
		if (bytes[1] == 0xa1 && code_i386_u32(bytes + 2) == current) {
			code->at += 6;
			return 0;
		}
		if (bytes[1] == 0x8b && (bytes[2] & 0xc7) == 0x05 &&
		    code_i386_u32(bytes + 3) == current) {
			code->at += 7;
			return bytes[2] >> 3 & 7;
		}
	}
	return -1;
}

uint32_t code_i386_find_member(const struct code_i386 *code, uint8_t opcode, int reg)
{
	for (size_t at = code->at; at + 6 <= code->end; at++) {
		const uint8_t *bytes = code->bytes + at;

		if (bytes[0] == opcode && (bytes[1] & 0xc7) == (0x80 | reg) &&
		    (opcode != 0xff || (bytes[1] >> 3 & 7) == 6))
			return code_i386_u32(bytes + 2);
	}
	return 0;
}

bool code_i386_follow(struct code_i386 *code, int *reg, uint32_t *offset)
{
	for (; code->at + 6 <= code->end; code->at++) {
		const uint8_t *bytes = code->bytes + code->at;
		uint8_t kind = bytes[1] & 0xc0;

		if (bytes[0] != 0x8b || (bytes[1] & 7) != *reg || *reg == CODE_ESP ||
		    (kind != 0x40 && kind != 0x80))
			continue;
		*offset = kind == 0x40 ? bytes[2] : code_i386_u32(bytes + 2);
		*reg = bytes[1] >> 3 & 7;
		code->at += kind == 0x40 ? 3 : 6;
		return true;
	}
	return false;
}
