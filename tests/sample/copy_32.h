/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of copies from kernels of 32 bits share: a guest whose words hold their own
 * addresses, and the pieces that are copied of its vCPU 1. The test makes the guest, in begin(),
 * and its page tables.
 */
#ifndef XTOP_TESTS_COPY_32_H
#define XTOP_TESTS_COPY_32_H

#include "copy_pieces.h"

static uint64_t next_frame;

/* The entry for ADDRESS in its table of level 1. Missing tables are made. */
static uint64_t *entry_of(uint32_t address);

static uint32_t *word_at(uint32_t address)
{
	return (uint32_t *)memory_guest_page(memory, *entry_of(address) >> 12) + address % 4096 / 4;
}

/*
 * SIZE bytes at ADDRESS; each word holds its own address. VALID: the bits of an entry for a page.
 */
static void add_valid_pages(uint32_t address, uint32_t size, uint64_t valid)
{
	for (uint32_t at = address & ~0xfffU; at < address + size; at += GUEST_PAGE_SIZE) {
		if (*entry_of(at))
			continue;
		*entry_of(at) = next_frame << 12 | valid;
		next_frame += 3; /* neighbours have no neighbouring frames */
		for (unsigned i = 0; i < 1024; i++)
			*word_at(at + 4 * i) = at + 4 * i;
	}
}

/* Piece I has KIND, begins at ADDRESS, and has the bytes up to LAST. */
static void check_piece(unsigned i, enum sample_stack_kind kind, uint32_t address, uint32_t last,
			const char *what)
{
	const struct sample_stack *piece = sample_first_stack(&record.vcpu);
	uint32_t word = 0;

	for (unsigned n = 0; n < i && i < copied.n_stacks; n++)
		piece = sample_next_stack(piece);
	if (!check(i < copied.n_stacks && piece->kind == kind && piece->address == address &&
			   piece->address + piece->size_bytes == last,
		   "%s: piece %u of %u", what, i, copied.n_stacks))
		return;
	memcpy(&word, piece + 1, sizeof(word));
	check_u64(word, address, "its bytes are those of its address");
}

#endif
