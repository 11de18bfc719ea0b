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

const void *cursor_bytes(struct cursor *cursor, uint64_t address, size_t size_bytes)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint64_t offset = address - piece->address;

		if (offset >= piece->size_bytes || piece->size_bytes - offset < size_bytes)
			continue;
		if (address + size_bytes > cursor->reached[i])
			cursor->reached[i] = address + size_bytes;
		return (const char *)(piece + 1) + offset;
	}
	return NULL;
}

bool cursor_read(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n)
{
	const void *bytes = cursor_bytes(cursor, address, n * sizeof(*words));

	for (size_t i = 0; bytes && i < n; i++) /* mostly one: no call */
		memcpy(&words[i], (const char *)bytes + i * sizeof(*words), sizeof(*words));
	return bytes;
}

int cursor_piece(const struct cursor *cursor, uint64_t address)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece))
		if (address - piece->address <= piece->size_bytes)
			return (int)i;
	return -1;
}
