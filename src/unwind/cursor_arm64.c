/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of a cursor; see cursor_arm64.h. Resolver's thread; pure functions. */
#include "config.h"

#include "unwind/cursor.h"
#include "unwind/cursor_arm64.h"

#define USUAL_BITS 48 /* of a half, where TCR says nothing that can be right */
#define BITS_MAX   52
#define BIT_HALF   55

void cursor_arm64_init(struct cursor *cursor, const struct sample_vcpu *vcpu)
{
	const struct registers_arm64 *regs = &vcpu->regs.arm64;

	*cursor = (struct cursor){
		.arch = ARCH_ARM64,
		.word_bytes = sizeof(uint64_t),
		.known = UINT32_MAX,
		.interrupted = true,
		.user = vcpu->user,
		.vcpu = vcpu,
	};
	for (unsigned i = 0; i < sizeof(cursor_arm64_registers); i++)
		if (cursor_arm64_registers[i] != CURSOR_ARM64_NONE)
			cursor->regs[cursor_arm64_registers[i]] = regs->x[i];
	cursor->regs[REG_SP] = registers_arm64_sp(regs);
	cursor->regs[REG_PC] = regs->pc;
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
