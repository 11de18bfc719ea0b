/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of a cursor; see cursor_arm32.h. Resolver's thread; pure functions. */
#include "config.h"

#include "unwind/cursor_arm32.h"

void cursor_arm32_init(struct cursor *cursor, const struct sample_vcpu *vcpu)
{
	const struct registers_arm64 *regs = &vcpu->regs.arm64;

	*cursor = (struct cursor){
		.arch = ARCH_ARM64,
		.word_bytes = sizeof(uint32_t),
		.known = UINT32_MAX,
		.interrupted = true,
		.thumb = regs->pstate & PSTATE_ARM32_THUMB,
		.user = vcpu->user,
		.vcpu = vcpu,
	};
	for (unsigned i = 0; i < N_REGISTERS_ARM32; i++)
		cursor->regs[cursor_arm32_registers[i]] = registers_arm32_get(regs, i);
	cursor->regs[REG_PC] = (uint32_t)regs->pc;
}
