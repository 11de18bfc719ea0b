/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a function that goes on in another frame has left of its caller; see eh_return.h. */
#include "config.h"

#include "unwind/eh_return.h"

#include "xtop/unwind/disassemble.h"

/* Stack words in which the function that catches is searched for. */
#define EH_RETURN_MAX_WORDS 4096

/* Whether CODE is "mov REGISTER, %rsp". */
static bool eh_return_loads_stack(const uint8_t *code, size_t n)
{
	return n > 2 && (code[0] & 0xfb) == 0x48 && code[1] == 0x89 && (code[2] & 0xc7) == 0xc4;
}

bool eh_return_is_near(const uint8_t *code, size_t n, uint64_t address)
{
	uint64_t furthest = 0; /* where jumps lead, counted from ADDRESS */

	for (size_t at = 0; at < n;) {
		const struct code next = { code + at, n - at, address + at, 8, ARCH_X86 };
		struct code_step step = disassemble_step(&next);
		uint64_t target = step.target - address;

		if (eh_return_loads_stack(code + at, n - at))
			return furthest <= at;
		if (step.bad || code[at] == 0xc3) /* ret */
			return false;
		if (step.flow == CODE_JUMP || step.flow == CODE_BRANCH)
			furthest = target > furthest ? target : furthest;
		at += step.length;
	}
	return false;
}

bool eh_return_has_caller(struct cursor *cursor)
{
	uint64_t word;

	for (unsigned i = 0; i < EH_RETURN_MAX_WORDS; i++) {
		if (!cursor_read(cursor, cursor->regs[REG_SP] + i * sizeof(word), &word, 1))
			break;
		if (word == cursor->regs[REG_PC])
			return false;
	}
	return true;
}
