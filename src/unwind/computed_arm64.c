/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding by instructions on arm64; see computed_machine.h. A call does not change the stack
 * pointer, and puts the return address into x30. Before a function has saved x30, its caller can be
 * found only if the function is the innermost (cfi_arm64.c). Resolver's thread; pure functions.
 */
#include "config.h"


#include "unwind/cfi_arm64.h"
#include "unwind/computed_machine.h"
#include "unwind/instruction_arm64.h"

#define WORD_BYTES 4

/* The order of cfi_machine_arm64.preserved_registers: x30, x19 to x29. */
static const uint8_t arm64_preserved[CFI_ARM64_PRESERVED] = {
	CODE_ARM64_LR,  CODE_ARM64_X19, CODE_ARM64_X20, CODE_ARM64_X21,
	CODE_ARM64_X22, CODE_ARM64_X23, CODE_ARM64_X24, CODE_ARM64_X25,
	CODE_ARM64_X26, CODE_ARM64_X27, CODE_ARM64_X28, CODE_ARM64_FP,
};

static const uint8_t arm64_cursor_registers[N_CODE_ARM64] = {
	[CODE_ARM64_X12] = 14, [CODE_ARM64_X13] = 15, [CODE_ARM64_X16] = 19,
	[CODE_ARM64_X19] = 21, [CODE_ARM64_X20] = 22, [CODE_ARM64_X21] = 23,
	[CODE_ARM64_X22] = 24, [CODE_ARM64_X23] = 25, [CODE_ARM64_X24] = 26,
	[CODE_ARM64_X25] = 27, [CODE_ARM64_X26] = 28, [CODE_ARM64_X27] = 29,
	[CODE_ARM64_X28] = 30, [CODE_ARM64_FP] = REG_ARM64_FP,
	[CODE_ARM64_SP] = REG_SP, [CODE_ARM64_LR] = REG_ARM64_LR,
};

static const uint8_t arm64_cfa_order[N_CODE_ARM64] = {
	CODE_ARM64_SP,	CODE_ARM64_FP,	CODE_ARM64_X19, CODE_ARM64_X20,
	CODE_ARM64_X21, CODE_ARM64_X22, CODE_ARM64_X23, CODE_ARM64_X24,
	CODE_ARM64_X25, CODE_ARM64_X26, CODE_ARM64_X27, CODE_ARM64_X28,
	CODE_ARM64_X12, CODE_ARM64_X13, CODE_ARM64_X16, CODE_ARM64_LR,
};

/* The instruction bl has the bits 100101 and a distance of 26 bits. Data rarely looks like this. */
static bool arm64_find_call(const uint8_t **atp, const uint8_t *end, uint64_t address,
			    uint64_t *target)
{
	const uint8_t *start = *atp;
	struct instruction call;

	for (const uint8_t *at = start; at < end; at += WORD_BYTES) {
		uint64_t place = address + (uint64_t)(at - start);

		if (at[3] >> 2 != 0x25 || !instruction_arm64_decode(at, WORD_BYTES, place, &call))
			continue;
		*atp = at + WORD_BYTES;
		*target = call.target;
		return true;
	}
	return false;
}

/* Whether BEFORE ends with a filler, a jump, return, trap or call, or with no instruction. */
static bool arm64_ends_function(const uint8_t before[COMPUTED_CALL_BEFORE_BYTES])
{
	const uint8_t *last = before + COMPUTED_CALL_BEFORE_BYTES - WORD_BYTES;
	struct instruction instruction;

	return !instruction_arm64_decode(last, WORD_BYTES, 0, &instruction) || instruction.filler ||
	       (instruction.flow != INSTRUCTION_NEXT && instruction.flow != INSTRUCTION_BRANCH);
}

const struct computed_machine computed_machine_arm64 = {
	.decode = instruction_arm64_decode,
	.ends_call = instruction_arm64_ends_call,
	.find_call = arm64_find_call,
	.ends_function = arm64_ends_function,
	.rule_step = cfi_arm64_rule_step,
	.cfi = &cfi_machine_arm64,
	.preserved = arm64_preserved,
	.cursor_registers = arm64_cursor_registers,
	.cfa_order = arm64_cfa_order,
	.call_bytes = WORD_BYTES,
};
