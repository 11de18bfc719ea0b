/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the program of one FDE and hands out its rows: from which address to which a row holds,
 * where the CFA is, and where each register of the caller is.
 *
 *   cfi_program_start(&program, &fde);
 *   while (cfi_program_next(&program))
 *           ... program.row_start, program.row_end, program.state ...
 */
#ifndef XTOP_UNWIND_CFI_PROGRAM_H
#define XTOP_UNWIND_CFI_PROGRAM_H

#include "unwind/cfi_entry.h"

enum cfi_where {
	WHERE_UNSAID,     /* no rule: unchanged, if a function preserves the register */
	WHERE_UNDEFINED,
	WHERE_SAME,
	WHERE_OFFSET,     /* in memory at CFA + value */
	WHERE_VAL_OFFSET, /* is CFA + value */
	WHERE_REGISTER,   /* in register `value` */
	WHERE_EXPRESSION, /* in memory where the expression says */
	WHERE_VAL_EXPRESSION,
};

struct cfi_place {
	enum cfi_where where;
	int64_t value;             /* of an expression: its length */
	const uint8_t *expression; /* in the FDE's bytes */
	bool safe;                 /* the expression is: checked once, when it is set */
};

enum cfi_cfa { CFA_UNSAID, CFA_REGISTER, CFA_EXPRESSION };

struct cfi_state {
	enum cfi_cfa cfa;
	uint8_t cfa_register; /* DWARF's number */
	int64_t cfa_offset;   /* of an expression: its length */
	const uint8_t *cfa_expression;
	bool cfa_safe;
	uint8_t n_places; /* of `registers` that the machine has; the others are not set */
	struct cfi_place registers[CFI_N_REGISTERS];
};

struct cfi_program {
	const struct cfi_fde *fde;
	struct cfi_reader reader;
	uint64_t location;
	bool ended;
	unsigned n_remembered;
	struct cfi_state state, initial;
	struct cfi_state remembered[CFI_MAX_STATES];

	uint64_t row_start, row_end; /* row_start < row_end <= fde->end */
	bool set_location;           /* a DW_CFA_set_loc has been run */
	bool bad;                    /* an instruction could not be read: no further rows */
};

void cfi_program_start(struct cfi_program *program, const struct cfi_fde *fde);
bool cfi_program_next(struct cfi_program *program);

/*
 * Whether libunwind may have the row: it has a CFA, which libunwind asserts, and its expressions
 * have known operations only, no loops and no division.
 */
bool cfi_state_is_safe(const struct cfi_state *state);
/* Whether libunwind may have all rows of FDE. Runs the program. */
bool cfi_program_is_safe(struct cfi_program *program, const struct cfi_fde *fde);

#endif
