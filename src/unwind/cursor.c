/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds copied stack bytes; see cursor.h. Resolver's thread; pure functions of the cursor. */
#include "config.h"

#include "unwind/cursor.h"

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

/* Copies N words of 4 bytes to WORDS. Returns false if BYTES is NULL. */
static bool cursor_widen(const char *bytes, uint64_t *words, size_t n)
{
	uint32_t word;

	for (size_t i = 0; bytes && i < n; i++) {
		memcpy(&word, bytes + i * sizeof(word), sizeof(word));
		words[i] = word;
	}
	return bytes;
}

bool cursor_read_short(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n)
{
	return cursor_widen(cursor_bytes(cursor, address, n * sizeof(uint32_t)), words, n);
}

/* Like cursor_bytes(), but leaves cursor->reached unchanged. */
static const char *cursor_peek_bytes(struct cursor *cursor, uint64_t address, size_t size_bytes)
{
	if ((!cursor->piece || !cursor_piece_has(cursor, address, size_bytes)) &&
	    !cursor_find_piece(cursor, address, size_bytes))
		return NULL;
	return (const char *)(cursor->piece + 1) + (address - cursor->piece->address);
}

bool cursor_peek(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n)
{
	const void *bytes = cursor_peek_bytes(cursor, address, n * sizeof(*words));

	if (bytes)
		memcpy(words, bytes, n * sizeof(*words));
	return bytes;
}

bool cursor_peek_short(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n)
{
	return cursor_widen(cursor_peek_bytes(cursor, address, n * sizeof(uint32_t)), words, n);
}

/* Limit for the size of a frame. What seems to be a caller further away is no caller. */
#define CURSOR_FRAME_MAX_BYTES (1 << 20)

enum unwind_step cursor_step_to(struct cursor *cursor, const struct runtime_caller *caller)
{
	uint64_t address, frame_pointer = cursor->regs[REG_RBP];

	if (cursor->word_bytes != sizeof(address))
		return STEP_NOT_COVERED;
	if (caller->stack_pointer - cursor->regs[REG_SP] > CURSOR_FRAME_MAX_BYTES)
		return STEP_BAD;
	if (!cursor_read(cursor, caller->return_at, &address, 1) ||
	    (caller->frame_pointer_at &&
	     !cursor_read(cursor, caller->frame_pointer_at, &frame_pointer, 1)))
		return STEP_CUT;
	if (caller->frame_pointer_at)
		cursor->known |= 1U << REG_RBP;
	cursor->known &= 1U << REG_PC | 1U << REG_SP | 1U << REG_RBP;
	cursor->regs[REG_PC] = address;
	cursor->regs[REG_SP] = caller->stack_pointer;
	cursor->regs[REG_RBP] = frame_pointer;
	cursor->interrupted = false;
	return STEP_CALLER;
}
