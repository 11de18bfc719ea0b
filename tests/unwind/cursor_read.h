/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cursor on a made-up vCPU, and what reads its stack. */
#ifndef TESTS_UNWIND_CURSOR_READ_H
#define TESTS_UNWIND_CURSOR_READ_H

#include <string.h>

#include "unwind/cursor.h"

/* Gives way to src/unwind/cursor.c where that is linked. */
__attribute__((weak)) bool cursor_read(struct cursor *cursor, uint64_t address, uint64_t *words,
				       size_t n)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint64_t offset = address - piece->address;

		if (offset < piece->size_bytes && piece->size_bytes - offset >= 8 * n) {
			memcpy(words, (const char *)(piece + 1) + offset, 8 * n);
			return true;
		}
	}
	return false;
}

static inline void cursor_of(struct cursor *cursor, const struct sample_vcpu *vcpu)
{
	*cursor = (struct cursor){ .known = (1U << N_UNWIND_REGISTERS) - 1,
				   .interrupted = true,
				   .vcpu = vcpu };
	memcpy(cursor->regs, &vcpu->regs, sizeof(cursor->regs));
}

#endif
