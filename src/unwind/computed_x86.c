/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding by instructions on x86-64; see computed_machine.h.
 *
 * Every byte E8 counts as a call. Decoding all instructions would take twenty times as long, and
 * would fail after data in the code. Most bytes E8 that are no calls have a target outside the
 * code: in a megabyte of code, only one in 4,000 has a target inside. Resolver's thread; pure
 * functions.
 */
#include "config.h"

#include <string.h>

#include "unwind/computed_machine.h"

#define CALL_OPCODE 0xe8 /* followed by a distance of four bytes: Intel SDM vol. 2, CALL */
#define CALL_BYTES  5

static const uint8_t x86_cursor_registers[COMPUTED_REGISTERS] = { 0, 1, 2,  3,  4,  5,  6,  7,
								  8, 9, 10, 11, 12, 13, 14, 15 };

static const uint8_t x86_cfa_order[COMPUTED_REGISTERS] = {
	REG_RSP, REG_RBP, REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15, REG_R10,
	REG_R11, REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_R8,  REG_R9,
};

static bool x86_find_call(const uint8_t **atp, const uint8_t *end, uint64_t address,
			  uint64_t *target)
{
	const uint8_t *start = *atp, *at = start;

	while (at < end) {
		int32_t distance;

		at = memchr(at, CALL_OPCODE, (size_t)(end - at));
		if (!at)
			return false;
		memcpy(&distance, at + 1, sizeof(distance));
		at++;
		if (!distance) /* part of a constant: no code calls the next instruction */
			continue;
		*atp = at;
		*target = address + (uint64_t)(at - 1 - start) + CALL_BYTES +
			  (uint64_t)(int64_t)distance;
		return true;
	}
	return false;
}

/* --- ends of functions ------------------------------------------------------------------------ */

/*
 * Whether BEFORE ends with one of the long fillers (Intel SDM vol. 2, NOP, "recommended multi-byte
 * sequence"), or has only zeros. The whole filler is compared, because constants end with zeros,
 * too.
 */
static bool x86_fills(const uint8_t before[COMPUTED_CALL_BEFORE_BYTES])
{
	static const struct {
		uint8_t n, bytes[COMPUTED_CALL_BEFORE_BYTES];
	} fillers[] = {
		{ 3, { 0x0f, 0x1f, 0x00 } },
		{ 4, { 0x0f, 0x1f, 0x40, 0 } },
		{ 5, { 0x0f, 0x1f, 0x44, 0, 0 } },
		{ 7, { 0x0f, 0x1f, 0x80, 0, 0, 0, 0 } },
		{ 8, { 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 } },
		{ 8, { 0 } },
	};

	for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++)
		if (memcmp(before + COMPUTED_CALL_BEFORE_BYTES - fillers[i].n, fillers[i].bytes,
			   fillers[i].n) == 0)
			return true;
	return false;
}

/* See struct computed_machine. */
static bool x86_ends_function(const uint8_t before[COMPUTED_CALL_BEFORE_BYTES])
{
	const uint8_t *end = before + COMPUTED_CALL_BEFORE_BYTES;

	switch (end[-1]) {
	case 0x0b: /* ud2 */
	case 0x90: /* nop */
	case 0xc3: /* ret */
	case 0xcc: /* int3 */
	case 0xf4: /* hlt */
		return true;
	default:
		break;
	}
	return x86_fills(before) ||
	       end[-5] == 0xe8 || end[-5] == 0xe9 || /* a call that never returns; jmp */
	       end[-2] == 0xeb || (end[-2] == 0xff && (end[-1] & 0xf8) == 0xe0); /* jmp *%reg */
}

const struct computed_machine computed_machine_x86 = {
	.decode = instruction_x86_decode,
	.ends_call = instruction_x86_ends_call,
	.find_call = x86_find_call,
	.ends_function = x86_ends_function,
	.rule_step = cfi_rule_step,
	.cfi = &cfi_machine_64,
	.preserved = cfi_preserved_registers,
	.cursor_registers = x86_cursor_registers,
	.cfa_order = x86_cfa_order,
	.return_bytes = 8,
	.call_bytes = CALL_BYTES,
};
