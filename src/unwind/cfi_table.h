/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled call-frame information: the .eh_frame or .debug_frame of one image becomes a sorted
 * table once (code address -> how to find the caller), so that a step is a search and one read of
 * the stack. Rows that the table cannot express, with DWARF expressions and other rare things, are
 * left to libunwind (dwarf.h). Addresses are the image's own. Resolver's thread.
 *
 *   bytes ─► cfi_entry.c ─► cfi_program.c ─► cfi_compile.c ─► struct cfi ─► cfi_step()
 *            CIE, FDE       instructions     rows, rules      table         cfi.c
 */
#ifndef XTOP_UNWIND_CFI_TABLE_H
#define XTOP_UNWIND_CFI_TABLE_H

#include "unwind/cfi_x86.h"
#include "unwind/cursor.h"
#include "xtop/base/error.h"
#include "xtop/unwind/cfi.h"

/* Limits of what a guest's file may hold; what is beyond them is left out and counted. */
#define CFI_MAX_ENTRY_BYTES   (64U << 10) /* of one FDE */
#define CFI_MAX_CIE_BYTES     1024
#define CFI_MAX_STATES        64          /* DW_CFA_remember_state within each other */
#define CFI_MAX_FDES          (1U << 20)
#define CFI_MAX_ROWS          (4U << 20)
#define CFI_MAX_RULES         65536
/* Read for the list of a section: a CIE counts for each FDE that uses it, and linkers write one CIE
 * of 24 bytes for many FDEs. */
#define CFI_MAX_CIES_BYTES(section_bytes) (2 * (section_bytes) + (64U << 10))
#define CFI_MAX_PROGRAM_BYTES (16U << 20) /* run for one table; CIEs count for each FDE, too */

enum cfi_rule_kind {
	RULE_NONE,      /* nothing is known of the code there; rule 0 */
	RULE_CFA,       /* CFA = register + offset */
	RULE_CFA_DEREF, /* CFA = the word at register + offset: gcc's realigned frames */
	RULE_CFA_PLT,   /* CFA = register + cfi_plt_bytes(pc, offset) */
	RULE_OUTERMOST, /* the return address is undefined */
	RULE_ASK,       /* libunwind */
	RULE_CFA_SHORT, /* as RULE_CFA, in code of 32 bits: cfi_machine_32, words of 4 bytes */
	RULE_CFA_DEREF_SHORT,
	RULE_CFA_ARM64, /* the same on arm64: cfi_machine_arm64 */
	RULE_CFA_DEREF_ARM64,
	RULE_CFA_ARM32, /* and for a kernel of 32 bits there: cfi_machine_arm32 */
	RULE_CFA_DEREF_ARM32,
	RULE_REGISTERS_ARM32, /* r0 to pc of what was interrupted, and CPSR: at register + offset */
};

#define CFI_MAX_KEPT 12 /* arm64 keeps the most */
#define CFI_RULE_WORDS 32 /* read at once, at most: saved registers and the words between them */

/*
 * The n_words at CFA + 8 * low, or 4 * low in code of 32 bits, hold all saved registers. slot[i]:
 * which of these words is register i, or CFI_RULE_WORDS when the register has not changed.
 */
struct cfi_rule {
	uint8_t kind;
	uint8_t reg; /* enum unwind_register, of the CFA */
	bool signal;
	uint8_t n_words;
	int16_t low; /* arm64 saves registers at the low end of a frame, however large it is */
	uint8_t unused[2];
	uint8_t slot[CFI_MAX_KEPT]; /* the first of struct cfi_machine.n_kept */
	uint32_t saved; /* bit enum unwind_register: has a slot */
	uint32_t kept;  /* same: has not been said to be undefined */
	int32_t offset;
};
_Static_assert(sizeof(struct cfi_rule) == 32, "rules are compared as bytes");

/* The code of one FDE, as far as no FDE behind it has it: offsets from the table's base. */
struct cfi_function {
	uint32_t start, end;
};

/* The rule that was found for an offset. */
struct cfi_hit {
	uint32_t offset; /* UINT32_MAX: none */
	uint32_t rule;
};
#define CFI_CACHE_BITS 9

/*
 * Row i holds from base + addresses[i] to the row behind it. blocks[b]: the row that holds at
 * base + (b << block_shift), so that a look-up searches the rows of one block only. Addresses and
 * rules are two arrays, since the search reads addresses only: 16 of them share a cache line.
 */
struct cfi {
	uint64_t base;
	struct cfi_function *functions; /* ascending; they do not overlap */
	size_t n_functions, functions_capacity;
	uint32_t span; /* bytes of code from base; the last row, RULE_NONE, is there */
	uint32_t n_rows, n_rules;
	uint32_t *addresses;
	uint16_t *row_rules;
	struct cfi_rule *rules;
	uint32_t *blocks;
	uint32_t n_blocks;
	unsigned block_shift;
	size_t n_fdes;
	size_t n_refused; /* entries left out: damaged, beyond a limit, or of an unknown kind */
	size_t n_asks;    /* rows for libunwind */
	struct cfi_hit cache[1 << CFI_CACHE_BITS]; /* last look-ups: most frames are seen again */
};

/* --- cfi_compile.c ---------------------------------------------------------------------------- */

/* *CFIP is NULL when there is nothing in the sections. Error: out of memory. */
struct xtop_error *cfi_compile(const struct cfi_sections *sections, struct cfi **cfip);

/* --- cfi_builder.c ---------------------------------------------------------------------------- */

void cfi_destroy(struct cfi *cfi); /* NULL allowed */
size_t cfi_memory_bytes(const struct cfi *cfi);

/* --- cfi.c ------------------------------------------------------------------------------------ */

/*
 * BIAS: address in the guest - address in the image. STEP_NOT_COVERED: no CFI for the address, or a
 * row for libunwind.
 */
enum unwind_step cfi_step(struct cfi *cfi, uint64_t bias, struct cursor *cursor);

/* The same for a cursor of arm64 (cfi_arm64.c). */
enum unwind_step cfi_arm64_step(struct cfi *cfi, uint64_t bias, struct cursor *cursor);
/* By RULE, whatever table has it. */
enum unwind_step cfi_arm64_rule_step(const struct cfi_rule *rule, struct cursor *cursor);
/* By RULE, which is RULE_CFA_ARM32. */
enum unwind_step cfi_arm32_rule_step(const struct cfi_rule *rule, struct cursor *cursor);
/* The rule at ADDRESS, in the image; NULL: no row covers it. */
const struct cfi_rule *cfi_find(struct cfi *cfi, uint64_t address);
/* The same by RULE, whatever table has it. */
enum unwind_step cfi_rule_step(const struct cfi_rule *rule, struct cursor *cursor);

/* The bounds in the image of the function that ADDRESS, in the image, lies in. False: no FDE. */
bool cfi_find_function(const struct cfi *cfi, uint64_t address, uint64_t *start, uint64_t *end);

/* Whether a row within [start, end) is left to libunwind. */
bool cfi_asks(const struct cfi *cfi, uint64_t start, uint64_t end);

/* The row at OFFSET < span. */
static inline uint32_t cfi_row(const struct cfi *cfi, uint32_t offset)
{
	uint32_t block = offset >> cfi->block_shift;
	uint32_t low = cfi->blocks[block], n = cfi->blocks[block + 1] - low + 1;

	/* addresses[low] <= offset. Most blocks need no more than three halvings. These are always
	 * done: a loop whose end cannot be predicted costs more than it saves. */
	for (unsigned i = 0; i < 3 || n > 1; i++) {
		uint32_t half = n / 2;

		low = cfi->addresses[low + half] <= offset ? low + half : low;
		n -= half;
	}
	return low;
}

#endif
