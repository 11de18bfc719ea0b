/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the walk is: registers of one frame, and the copied bytes they are looked up in; see
 * cursor.h. Resolver's thread; pure functions of the cursor.
 */
#include "config.h"

#include "unwind/cursor.h"

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

bool cursor_find_piece(struct cursor *cursor, uint64_t address, size_t size_bytes)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		cursor->piece = piece;
		cursor->piece_index = i;
		if (cursor_piece_has(cursor, address, size_bytes))
			return true;
	}
	return false;
}

int cursor_piece(const struct cursor *cursor, uint64_t address)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece))
		if (address - piece->address <= piece->size_bytes)
			return (int)i;
	return -1;
}
