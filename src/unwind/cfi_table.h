/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled call-frame information: the .eh_frame or .debug_frame of one image is compiled once into
 * a sorted table: code address -> how to find the caller. A step is then a search and one read of
 * the stack. Rows that the table cannot express, such as DWARF expressions, are left to libunwind
 * (dwarf.h). Addresses are the image's own. Resolver's thread.
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

/* Limits for a guest's file. Entries beyond a limit are left out and counted. */
#define CFI_MAX_ENTRY_BYTES   (64U << 10) /* size of one FDE */
#define CFI_MAX_CIE_BYTES     1024
#define CFI_MAX_STATES        64          /* nested DW_CFA_remember_state */
#define CFI_MAX_FDES          (1U << 20)
#define CFI_MAX_ROWS          (4U << 20)
#define CFI_MAX_RULES         65536
/*
 * CIE bytes read to list the FDEs of a section. A CIE counts once for each FDE that uses it.
 * Linkers write one CIE of 24 bytes for many FDEs.
 */
#define CFI_MAX_CIES_BYTES(section_bytes) (2 * (section_bytes) + (64U << 10))
/* Program bytes run for one table. A CIE's program counts once for each FDE that uses the CIE. */
#define CFI_MAX_PROGRAM_BYTES (16U << 20)

#define CFI_MAX_PRESERVED 12 /* registers that a function preserves; arm64 has the most */
/* limit for the stack words that a step reads: saved registers and words between them */
#define CFI_RULE_WORDS 32

/*
 * The n_words stack words at CFA + 8 * low (CFA + 4 * low in 32-bit code) hold all saved registers.
 * slot[i] is the index of preserved register i among these words, or CFI_RULE_WORDS if the register
 * is not saved.
 */
struct cfi_rule {
	uint8_t kind;      /* enum cfi_rule_kind */
	uint8_t reg;       /* enum unwind_register that the CFA is computed from */
	bool signal;       /* the caller was interrupted */
	uint8_t n_words;
	int16_t low;       /* 16 bits: on arm64 the saved registers may lie far below the CFA */
	uint8_t unused[2]; /* zeros */
	uint8_t slot[CFI_MAX_PRESERVED]; /* struct cfi_machine.n_preserved slots are used */
	uint32_t saved;    /* bit i: register i (enum unwind_register) has a slot */
	uint32_t unchanged; /* bit i: register i stays known in the caller */
	int32_t offset;
};
_Static_assert(sizeof(struct cfi_rule) == 32, "rules are compared as bytes");

/* The code of one FDE up to the next FDE's code, as offsets from the table's base. */
struct cfi_function {
	uint32_t start, end;
};

/* The rule that was found for an offset. */
struct cfi_hit {
	uint32_t offset; /* UINT32_MAX: the entry is empty */
	uint32_t rule;
};
#define CFI_CACHE_BITS 9

/*
 * Row i holds from base + addresses[i] to the next row. blocks[b] is the row that holds at base +
 * (b << block_shift), so a look-up searches only the rows of one block. Addresses and rules are two
 * arrays because the search reads only addresses: 16 addresses share a cache line.
 */
struct cfi {
	uint64_t base;
	struct cfi_function *functions; /* ascending; they do not overlap */
	size_t n_functions, functions_capacity;
	uint32_t span; /* bytes of code from base; the last row, RULE_NONE, is at base + span */
	uint32_t n_rows, n_rules;
	uint32_t *addresses;
	uint16_t *row_rules;
	struct cfi_rule *rules;
	uint32_t *blocks;
	uint32_t n_blocks;
	unsigned block_shift;
	size_t n_fdes;
	size_t n_refused; /* entries left out: damaged, beyond a limit, or of an unknown kind */
	size_t n_asks;    /* rows with RULE_ASK */
	struct cfi_hit cache[1 << CFI_CACHE_BITS]; /* recent look-ups; most frames repeat */
};

/* --- cfi_compile.c ---------------------------------------------------------------------------- */

/* *CFIP is NULL if no FDE can be read. Error: out of memory. */
struct xtop_error *cfi_compile(const struct cfi_sections *sections, struct cfi **cfip);

/* --- cfi_builder.c ---------------------------------------------------------------------------- */

void cfi_destroy(struct cfi *cfi); /* NULL allowed */
size_t cfi_memory_bytes(const struct cfi *cfi);

/* --- cfi.c ------------------------------------------------------------------------------------ */

/*
 * A step on x86 by the table's rule for the cursor's address. BIAS: address in the guest - address
 * in the image. STEP_NOT_COVERED: the address has no CFI, or the row is left to libunwind.
 */
enum unwind_step cfi_step(struct cfi *cfi, uint64_t bias, struct cursor *cursor);
/* A step on x86 by RULE, from any table. */
enum unwind_step cfi_rule_step(const struct cfi_rule *rule, struct cursor *cursor);

/* The rule at ADDRESS in the image; NULL if no row covers ADDRESS. */
const struct cfi_rule *cfi_find(struct cfi *cfi, uint64_t address);

/* The bounds of the FDE that covers ADDRESS; all in the image. Returns false if no FDE does. */
bool cfi_find_function(const struct cfi *cfi, uint64_t address, uint64_t *start, uint64_t *end);

/* Whether a row within [START, END) is left to libunwind. */
bool cfi_asks(const struct cfi *cfi, uint64_t start, uint64_t end);

/* --- cfi_arm64.c ------------------------------------------------------------------------------ */

/* A step on arm64 by the table's rule for the cursor's address; see cfi_step(). */
enum unwind_step cfi_arm64_step(struct cfi *cfi, uint64_t bias, struct cursor *cursor);
/* A step on arm64 by RULE, from any table. */
enum unwind_step cfi_arm64_rule_step(const struct cfi_rule *rule, struct cursor *cursor);
/* A step in 32-bit Arm code by RULE, of the kind RULE_CFA_ARM32 or RULE_CFA_DEREF_ARM32. */
enum unwind_step cfi_arm32_rule_step(const struct cfi_rule *rule, struct cursor *cursor);

/* --- the search ------------------------------------------------------------------------------- */

/*
 * The row at OFFSET < span. This is not sorted_count() (xtop/base/sorted.h): three halvings are
 * enough for most blocks, and are always done. A loop with an unpredictable end costs more time.
 */
static inline uint32_t cfi_row(const struct cfi *cfi, uint32_t offset)
{
	uint32_t block = offset >> cfi->block_shift;
	uint32_t low = cfi->blocks[block], n = cfi->blocks[block + 1] - low + 1;

	/* addresses[low] <= offset */
	for (unsigned i = 0; i < 3 || n > 1; i++) {
		uint32_t half = n / 2;

		low = cfi->addresses[low + half] <= offset ? low + half : low;
		n -= half;
	}
	return low;
}

#endif
