/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cursor's registers in 32-bit Arm code; see cursor_arm32.h. Resolver's thread; pure functions.
 */
#include "config.h"

#include "unwind/cursor_arm32.h"

void cursor_arm32_init(struct cursor *cursor, const struct registers_arm64 *regs)
{
	for (unsigned i = 0; i < N_REGISTERS_ARM32; i++)
		cursor->regs[cursor_arm32_registers[i]] = registers_arm32_get(regs, i);
	cursor->regs[REG_PC] = (uint32_t)regs->pc;
	cursor->thumb = regs->pstate & PSTATE_ARM32_THUMB;
	cursor->known = UINT32_MAX;
}

void cursor_arm32_set(struct cursor *cursor, const uint64_t *words)
{
	for (unsigned i = 0; i < N_REGISTERS_ARM32; i++)
		cursor->regs[cursor_arm32_registers[i]] = words[i];
	cursor->regs[REG_PC] = words[PT_ARM32_PC];
	cursor->thumb = words[PT_ARM32_CPSR] & PSTATE_ARM32_THUMB;
	cursor->known = UINT32_MAX;
	cursor->interrupted = true;
}

void cursor_arm32_set_saved(struct cursor *cursor, const uint64_t *saved)
{
	uint64_t words[PT_ARM32_WORDS];

	for (unsigned i = 0; i < N_REGISTERS_ARM32; i++)
		words[i] = (uint32_t)saved[PT_ARM64_X0 + i];
	words[PT_ARM32_PC] = (uint32_t)saved[PT_ARM64_PC];
	words[PT_ARM32_CPSR] = saved[PT_ARM64_PSTATE];
	cursor->word_bytes = sizeof(uint32_t);
	cursor_arm32_set(cursor, words);
}
