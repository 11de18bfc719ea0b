/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cursor's registers on arm64; see cursor_arm64.h. Resolver's thread; pure functions. */
#include "config.h"

#include "unwind/cursor.h"
#include "unwind/cursor_arm64.h"

#define USUAL_BITS 48 /* address bits of each half, if TCR has an impossible value */
#define BITS_MAX   52
#define BIT_HALF   55

void cursor_arm64_set(struct cursor *cursor, const uint64_t *saved)
{
	for (unsigned i = 0; i < sizeof(cursor_arm64_registers); i++)
		if (cursor_arm64_registers[i] != CURSOR_ARM64_NONE)
			cursor->regs[cursor_arm64_registers[i]] = saved[i];
	cursor->regs[REG_PC] = saved[PT_ARM64_PC];
	cursor->known = UINT32_MAX;
	cursor->interrupted = true;
}

void cursor_arm64_init(struct cursor *cursor, const struct registers_arm64 *regs)
{
	uint64_t saved[PT_ARM64_PC + 1];

	memcpy(saved, regs->x, sizeof(regs->x));
	saved[PT_ARM64_SP] = registers_arm64_sp(regs);
	saved[PT_ARM64_PC] = regs->pc;
	cursor_arm64_set(cursor, saved);
}

uint64_t cursor_arm64_strip(const struct cursor *cursor, uint64_t address)
{
	bool is_upper = address >> BIT_HALF & 1;
	const struct root_arm64 root = root_arm64(&cursor->vcpu->regs.arm64);
	unsigned bits = 64 - (is_upper ? root.size1 : root.size0);
	uint64_t above;

	if (bits > BITS_MAX)
		bits = USUAL_BITS;
	above = ~0ULL << bits;
	return is_upper ? address | above : address & ~above;
}

/*
 * Linux's signal frame: struct siginfo, then struct ucontext, which ends with struct sigcontext
 * (Linux arch/arm64/include/uapi/asm/sigcontext.h, v6.1): x0 to x30, sp, pc, pstate, a word of
 * padding, and records. The kernel writes the record of the SIMD registers first.
 */
#define SIGFRAME_REGISTERS 312
#define SIGFRAME_SIMD      0x0000021046508001 /* FPSIMD_MAGIC, and 528 bytes */
enum { SIGFRAME_PSTATE = 33, SIGFRAME_RECORDS = 35, N_SIGFRAME };

/* Bytes that turn out to be no signal frame do not count as reached. */
static bool cursor_arm64_read_signal(struct cursor *cursor, uint64_t *words)
{
	uint64_t address = cursor->regs[REG_SP] + SIGFRAME_REGISTERS;

	if (!cursor->user || !cursor_peek(cursor, address, words, N_SIGFRAME) ||
	    !pstate_arm64_is_user64(words[SIGFRAME_PSTATE]) ||
	    words[SIGFRAME_RECORDS] != SIGFRAME_SIMD)
		return false;
	cursor_bytes(cursor, address, N_SIGFRAME * sizeof(*words)); /* now they are reached */
	return true;
}

bool cursor_arm64_leave_signal(struct cursor *cursor)
{
	uint64_t words[N_SIGFRAME];

	if (!cursor_arm64_read_signal(cursor, words))
		return false;
	cursor_arm64_set(cursor, words);
	return true;
}
