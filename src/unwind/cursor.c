/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the walk is: registers of one frame, and the copied bytes they are looked up in; see
 * cursor.h. Resolver's thread; pure functions of the cursor.
 */
#include "config.h"

#include "unwind/cursor.h"

#include <string.h>

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

bool cursor_read(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);
	size_t size_bytes = n * sizeof(*words);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint64_t offset = address - piece->address;

		if (offset >= piece->size_bytes || piece->size_bytes - offset < size_bytes)
			continue;
		for (size_t j = 0; j < n; j++) /* mostly one: no call */
			memcpy(&words[j], (const char *)(piece + 1) + offset + 8 * j, 8);
		if (address + size_bytes > cursor->reached[i])
			cursor->reached[i] = address + size_bytes;
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
