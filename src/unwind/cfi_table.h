/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compiled table: written by cfi_compile.c, read by cfi.c. */
#ifndef XTOP_UNWIND_CFI_TABLE_H
#define XTOP_UNWIND_CFI_TABLE_H

#include "unwind/cfi.h"

/* What a step restores, in the order of cfi_rule.slot. */
enum cfi_kept {
	KEPT_RETURN,
	KEPT_RBX,
	KEPT_RBP,
	KEPT_R12,
	KEPT_R13,
	KEPT_R14,
	KEPT_R15,
	N_CFI_KEPT
};

static const uint8_t cfi_kept_registers[N_CFI_KEPT] = {
	[KEPT_RETURN] = REG_RIP, [KEPT_RBX] = REG_RBX, [KEPT_RBP] = REG_RBP, [KEPT_R12] = REG_R12,
	[KEPT_R13] = REG_R13,	 [KEPT_R14] = REG_R14, [KEPT_R15] = REG_R15,
};
#define CFI_KEPT_MASK                                                                             \
	(1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBX | 1U << REG_RBP | 1U << REG_R12 |          \
	 1U << REG_R13 | 1U << REG_R14 | 1U << REG_R15)

enum cfi_rule_kind {
	RULE_NONE,      /* nothing is known of the code there; rule 0 */
	RULE_CFA,       /* CFA = register + offset */
	RULE_CFA_DEREF, /* CFA = what stands at register + offset: gcc's realigned frames */
	RULE_CFA_PLT,   /* CFA = rsp + 8, and 8 more where (rip & 15) >= offset */
	RULE_OUTERMOST, /* the return address is undefined */
	RULE_ASK,       /* libunwind */
};

#define CFI_RULE_WORDS 32 /* read at once, at most: the saved registers and what is between them */

/*
 * The n_words at CFA + 8 * low hold all that was saved. slot[i]: which of them is register i, or
 * CFI_RULE_WORDS: it is as it was.
 */
struct cfi_rule {
	uint8_t kind;
	uint8_t reg; /* enum unwind_register, of the CFA */
	bool signal;
	int8_t low;
	uint8_t n_words;
	uint8_t slot[N_CFI_KEPT];
	uint32_t saved; /* bit enum unwind_register: has a slot */
	uint32_t kept;  /* has not been said to be undefined */
	int32_t offset;
};
_Static_assert(sizeof(struct cfi_rule) == 24, "rules are compared as bytes");

#define CFI_MAX_RULES 65536

/*
 * Row i says what holds from base + addresses[i] to the row behind it. blocks[b]: the row that
 * holds at base + (b << block_shift), so that a look-up searches the rows of one block only.
 */
struct cfi_hit {
	uint32_t offset; /* UINT32_MAX: none */
	uint32_t rule;
};
#define CFI_CACHE_BITS 9

struct cfi {
	uint64_t base;
	uint32_t span; /* bytes of code from base; the last row, RULE_NONE, is there */
	uint32_t n_rows, n_rules;
	uint32_t *addresses;
	uint16_t *row_rules;
	struct cfi_rule *rules;
	uint32_t *blocks;
	uint32_t n_blocks;
	unsigned block_shift;
	size_t n_fdes, n_refused, n_asks;
	struct cfi_hit cache[1 << CFI_CACHE_BITS]; /* of the last look-ups: most frames are callers again */
};

/* Row at OFFSET < span. */
static inline uint32_t cfi_row(const struct cfi *cfi, uint32_t offset)
{
	uint32_t block = offset >> cfi->block_shift;
	uint32_t low = cfi->blocks[block], n = cfi->blocks[block + 1] - low + 1;

	/* addresses[low] <= offset. Most blocks need no more than three halvings: these are always
	 * done, as a loop that ends now here, now there costs more than it saves. */
	for (unsigned i = 0; i < 3 || n > 1; i++) {
		uint32_t half = n / 2;

		low = cfi->addresses[low + half] <= offset ? low + half : low;
		n -= half;
	}
	return low;
}

#endif
