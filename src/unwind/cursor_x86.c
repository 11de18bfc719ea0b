/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cursor's registers on x86-64 and i386; see cursor_x86.h. Resolver's thread; pure functions. */
#include "config.h"

#include "unwind/cursor_x86.h"

#include "xtop/base/registers_x86.h"

/* Clears the registers' upper halves: they are undefined in 32-bit code (SDM vol. 1 §3.4.1.1). */
static void cursor_set_short(struct cursor *cursor)
{
	cursor->word_bytes = sizeof(uint32_t);
	for (unsigned i = 0; i < N_UNWIND_REGISTERS; i++)
		cursor->regs[i] = (uint32_t)cursor->regs[i];
}

_Static_assert(offsetof(struct registers, r15) == REG_R15 * sizeof(uint64_t) &&
		       offsetof(struct registers, rip) == REG_RIP * sizeof(uint64_t),
	       "a cursor has the registers in the order of struct registers");

void cursor_x86_init(struct cursor *cursor, const struct registers *regs)
{
	memcpy(cursor->regs, regs, N_UNWIND_REGISTERS * sizeof(cursor->regs[0]));
	cursor->known = CURSOR_KNOWS_ALL;
	if (cursor->word_bytes == sizeof(uint32_t))
		cursor_set_short(cursor);
}

enum unwind_step cursor_step_leaf(struct cursor *cursor, unsigned skip)
{
	uint64_t place = cursor->regs[REG_RSP] + (uint64_t)cursor->word_bytes * skip, address;

	if (!cursor_read_words(cursor, place, &address, 1))
		return STEP_CUT;
	cursor->regs[REG_RIP] = address;
	cursor->regs[REG_RSP] = place + cursor->word_bytes;
	cursor->interrupted = false;
	return STEP_CALLER;
}

static const uint8_t cursor_pt_regs[] = { REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP,
					  REG_RBX, REG_R11, REG_R10, REG_R9,  REG_R8,
					  REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI };
_Static_assert(sizeof(cursor_pt_regs) == PT_REGS_ORIG_RAX, "the words before the system call");

void cursor_set_pt_regs(struct cursor *cursor, const uint64_t *saved)
{
	for (size_t i = 0; i < sizeof(cursor_pt_regs); i++)
		cursor->regs[cursor_pt_regs[i]] = saved[i];
	cursor->regs[REG_RIP] = saved[PT_REGS_RIP];
	cursor->regs[REG_RSP] = saved[PT_REGS_RSP];
	cursor->known = CURSOR_KNOWS_ALL;
	if (code_word_bytes(WIDTH_64, saved[PT_REGS_CS]) == sizeof(uint32_t))
		cursor_set_short(cursor);
}

bool cursor_read_pt_regs(struct cursor *cursor, uint64_t address, uint64_t *saved)
{
	uint64_t below_bytes = cursor->regs[REG_RSP] - address;
	size_t n_popped = below_bytes / sizeof(*saved);

	if (n_popped > PT_REGS_PROCESSOR || cursor->known != CURSOR_KNOWS_ALL)
		n_popped = 0;
	for (size_t i = 0; i < n_popped; i++)
		saved[i] = i < sizeof(cursor_pt_regs) ? cursor->regs[cursor_pt_regs[i]] : 0;
	return cursor_read(cursor, address + n_popped * sizeof(*saved), saved + n_popped,
			   N_PT_REGS - n_popped);
}

enum unwind_step cursor_resume(struct cursor *cursor, uint64_t cs)
{
	cursor->user = cs & CS_PRIVILEGE;
	cursor->word_bytes = code_word_bytes(WIDTH_64, cs);
	return cursor->user ? STEP_USER : STEP_CALLER;
}

enum unwind_step cursor_step_partial(struct cursor *cursor, uint64_t sp, uint64_t bp)
{
	uint64_t saved[N_IRET];

	if (!cursor_read(cursor, sp, saved, N_IRET))
		return STEP_CUT;
	cursor->regs[REG_RIP] = saved[IRET_RIP];
	cursor->regs[REG_RSP] = saved[IRET_RSP];
	cursor->regs[REG_RBP] = bp;
	return cursor_resume(cursor, saved[IRET_CS]);
}
