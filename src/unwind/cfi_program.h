/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the program of one FDE and hands out the rows that it makes. A row says for a range of
 * addresses where the CFA is, and where each register of the caller is.
 *
 *   cfi_program_start(&program, &fde);
 *   while (cfi_program_next(&program))
 *           ... program.row_start, program.row_end, program.state ...
 */
#ifndef XTOP_UNWIND_CFI_PROGRAM_H
#define XTOP_UNWIND_CFI_PROGRAM_H

#include "unwind/cfi_entry.h"

/* Where the caller's value of a register is. */
enum cfi_where {
	WHERE_UNSAID,     /* no rule: the value is unchanged if a function preserves the register */
	WHERE_UNDEFINED,  /* the value is lost */
	WHERE_SAME,       /* the value is unchanged */
	WHERE_OFFSET,     /* the value is in memory at CFA + `value` */
	WHERE_VAL_OFFSET, /* the value is CFA + `value` */
	WHERE_REGISTER,   /* the value is in the register with the number `value` */
	WHERE_EXPRESSION, /* the value is in memory at the expression's result */
	WHERE_VAL_EXPRESSION, /* the value is the expression's result */
};

struct cfi_place {
	enum cfi_where where;
	int64_t value;             /* number, offset, or an expression's length in bytes */
	const uint8_t *expression; /* a part of the FDE's bytes */
	bool safe;                 /* the expression was checked: libunwind may evaluate it */
};

enum cfi_cfa { CFA_UNSAID, CFA_REGISTER, CFA_EXPRESSION };

/* One row: where the CFA and the caller's registers are. */
struct cfi_state {
	enum cfi_cfa cfa;
	uint8_t cfa_register; /* DWARF's number of the register */
	int64_t cfa_offset;   /* CFA_REGISTER: added to it; CFA_EXPRESSION: length in bytes */
	const uint8_t *cfa_expression;
	bool cfa_safe;    /* the expression was checked: libunwind may evaluate it */
	uint8_t n_places; /* how many `registers` the machine has; the rest is not initialised */
	struct cfi_place registers[CFI_N_REGISTERS]; /* indexed by DWARF's number */
};

struct cfi_program {
	const struct cfi_fde *fde;
	struct cfi_reader reader;
	uint64_t location; /* code address that the program has reached */
	bool ended;        /* no instruction is left */
	unsigned n_remembered;
	struct cfi_state state;   /* the current row */
	struct cfi_state initial; /* the row after the CIE's program */
	struct cfi_state remembered[CFI_MAX_STATES];

	uint64_t row_start, row_end; /* row_start < row_end <= fde->end */
	bool set_location;           /* a DW_CFA_set_loc has been run */
	bool bad;                    /* an instruction could not be read: no further rows */
};

void cfi_program_start(struct cfi_program *program, const struct cfi_fde *fde);
bool cfi_program_next(struct cfi_program *program);

/*
 * Whether the row may be given to libunwind: the row has a CFA, because libunwind asserts that, and
 * its expressions have only known operations, no loops and no division.
 */
bool cfi_state_is_safe(const struct cfi_state *state);
/* Whether all rows of FDE may be given to libunwind. Runs the program. */
bool cfi_program_is_safe(struct cfi_program *program, const struct cfi_fde *fde);

#endif
