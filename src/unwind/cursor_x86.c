/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of a cursor; see cursor_x86.h. Resolver's thread; pure functions. */
#include "config.h"

#include "unwind/cursor.h"
#include "xtop/registers_x86.h"

void cursor_init(struct cursor *cursor, const struct sample_vcpu *vcpu)
{
	const struct registers *regs = &vcpu->regs;

	*cursor = (struct cursor){
		.regs = { regs->rax, regs->rbx, regs->rcx, regs->rdx, regs->rsi, regs->rdi,
			  regs->rbp, regs->rsp, regs->r8, regs->r9, regs->r10, regs->r11, regs->r12,
			  regs->r13, regs->r14, regs->r15, regs->rip },
		.known = CURSOR_KNOWS_ALL,
		.interrupted = true,
		.user = vcpu->user,
		.vcpu = vcpu,
	};
}

void cursor_set_pt_regs(struct cursor *cursor, const uint64_t *saved)
{
	static const uint8_t order[] = { REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP,
					 REG_RBX, REG_R11, REG_R10, REG_R9,  REG_R8,
					 REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI };

	_Static_assert(sizeof(order) == PT_REGS_ORIG_RAX, "the words before the system call");
	for (size_t i = 0; i < sizeof(order); i++)
		cursor->regs[order[i]] = saved[i];
	cursor->regs[REG_RIP] = saved[PT_REGS_RIP];
	cursor->regs[REG_RSP] = saved[PT_REGS_RSP];
	cursor->known = CURSOR_KNOWS_ALL;
}
