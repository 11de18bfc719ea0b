/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The compact ORC table: orc.c builds it and looks addresses up (the layout is described there),
 * orc_pack.c packs it, orc_step_x86.c makes steps with it.
 */
#ifndef XTOP_UNWIND_ORC_TABLE_H
#define XTOP_UNWIND_ORC_TABLE_H

#include "unwind/cursor.h"
#include "xtop/unwind/orc.h"

enum orc_register {
	ORC_UNDEFINED, ORC_PREV_SP, ORC_DX, ORC_DI, ORC_BP, ORC_SP, ORC_R10, ORC_R13,
	ORC_BP_INDIRECT, ORC_SP_INDIRECT, ORC_AX,
	N_ORC_REGISTERS
};

enum orc_type { ORC_NOTHING, ORC_END, ORC_CALL, ORC_REGS, ORC_PARTIAL, N_ORC_TYPES };

/* A decoded entry, independent of the version of the format. */
struct orc_row {
	int16_t sp_offset, bp_offset;
	uint8_t sp_reg, bp_reg; /* enum orc_register */
	uint8_t type;           /* enum orc_type */
	uint8_t signal;         /* 1: the caller was interrupted and made no call */
};

struct orc_special_range {
	uint64_t start, end;
	enum orc_special kind;
};

struct orc {
	uint64_t start, end; /* the code, in the image */
	size_t n, n_blocks, n_rows; /* n: number of entries */
	uint32_t *blocks;
	uint8_t *entries;
	struct orc_row *rows;

	struct orc_special_range specials[ORC_MAX_SPECIALS]; /* sorted by time of adding */
	size_t n_specials;
	uint64_t specials_start, specials_end; /* a range that includes all specials */
};

#define ORC_KEPT_BYTES 3 /* size of a compact entry */

/* How many blocks TEXT_BYTES of code have. */
size_t orc_blocks(uint64_t text_bytes);
/* The size of N entries, with the bytes that a look-up reads after them. */
size_t orc_entries_bytes(size_t n);
/* Shares the arrays of a finished table with equal tables of other guests (shared_array.h). */
void orc_share(struct orc *orc);
/* The row for ADDRESS, in the image; NULL if no entry covers ADDRESS. */
const struct orc_row *orc_find(const struct orc *orc, uint64_t address);
size_t orc_memory_bytes(const struct orc *orc);

/* --- orc_entry_x86.c -------------------------------------------------------------------------- */

/* Decodes only the type of entry I, from the entry's third word. */
uint8_t orc_decode_type(const void *entries, size_t i, const struct orc_layout *layout);
struct orc_row orc_decode(const void *entries, size_t i, const struct orc_layout *layout);

/* --- orc_step_x86.c --------------------------------------------------------------------------- */

/* BIAS: address in the guest - address in the image. */
enum unwind_step orc_step(const struct orc *orc, uint64_t bias, struct cursor *cursor);

/* --- orc_special_x86.c ------------------------------------------------------------------------ */

/* A step from special code. STEP_NOT_COVERED: the cursor is in ordinary code. */
enum unwind_step orc_step_special(const struct orc *orc, uint64_t bias, struct cursor *cursor);
/* Finds the special range that ADDRESS, in the image, lies in. False: ADDRESS is ordinary code. */
bool orc_find_special(const struct orc *orc, uint64_t address, enum orc_special *kind,
		      uint64_t *start);

#endif
