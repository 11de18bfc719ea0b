/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds where a function continues that leaves several frames at once; see eh_return.h. */
#include "config.h"

#include "unwind/eh_return.h"

#include "xtop/unwind/disassemble.h"

/* Limit for the words of the function's frame that are searched for addresses of saved words. */
#define EH_RETURN_MAX_WORDS 1024

/* Whether CODE is "mov REGISTER, %rsp". */
static bool eh_return_loads_stack(const uint8_t *code, size_t n)
{
	return n > 2 && (code[0] & 0xfb) == 0x48 && code[1] == 0x89 && (code[2] & 0xc7) == 0xc4;
}

bool eh_return_is_near(const uint8_t *code, size_t n, uint64_t address)
{
	uint64_t furthest = 0; /* the furthest target of a jump, as a distance from ADDRESS */

	for (size_t at = 0; at < n;) {
		const struct code next = { code + at, n - at, address + at, 8, ARCH_X86 };
		struct code_step step = disassemble_step(&next);
		uint64_t target = step.target - address;

		if (eh_return_loads_stack(code + at, n - at))
			return furthest <= at;
		if (step.bad || step.flow == CODE_RETURN)
			return false;
		if (step.flow == CODE_JUMP || step.flow == CODE_BRANCH)
			furthest = target > furthest ? target : furthest;
		at += step.length;
	}
	return false;
}

bool eh_return_has_call(const uint8_t *code, size_t n, uint64_t address)
{
	for (size_t at = 0; at < n && !eh_return_loads_stack(code + at, n - at);) {
		const struct code next = { code + at, n - at, address + at, 8, ARCH_X86 };
		struct code_step step = disassemble_step(&next);

		if (step.flow == CODE_CALL)
			return true;
		if (step.bad)
			return false;
		at += step.length;
	}
	return false;
}

bool eh_return_find_caller(struct cursor *cursor, uint64_t frame)
{
	uint64_t cfa = cursor->regs[REG_SP], place, word;
	uint32_t overwritten = 0;

	for (unsigned i = 0; i < EH_RETURN_MAX_WORDS && frame + i * sizeof(place) < cfa; i++) {
		if (!cursor_peek(cursor, frame + i * sizeof(place), &place, 1) || place < cfa ||
		    !cursor_peek(cursor, place, &word, 1))
			continue;
		if (word == cursor->regs[REG_PC]) {
			cursor->regs[REG_SP] = place + sizeof(word);
			return true;
		}
		for (unsigned reg = 0; reg < N_UNWIND_REGISTERS; reg++)
			if (reg != REG_SP && word == cursor->regs[reg])
				overwritten |= 1U << reg;
	}
	cursor->known &= ~overwritten;
	return false;
}
