/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts a cursor at the registers of a vCPU; see cursor.h. Resolver's thread; pure functions. */
#include "config.h"

#include "unwind/cursor_arm32.h"
#include "unwind/cursor_arm64.h"
#include "unwind/cursor_x86.h"

void cursor_init(struct cursor *cursor, const struct sample_vcpu *vcpu)
{
	const struct registers *regs = &vcpu->regs;

	*cursor = (struct cursor){ .arch = regs->arch,
				   .word_bytes = registers_word_bytes(regs, vcpu->user),
				   .interrupted = true,
				   .user = vcpu->user,
				   .vcpu = vcpu };
	if (registers_runs_arm32(regs))
		cursor_arm32_init(cursor, &regs->arm64);
	else if (regs->arch == ARCH_ARM64)
		cursor_arm64_init(cursor, &regs->arm64);
	else
		cursor_x86_init(cursor, regs);
}
