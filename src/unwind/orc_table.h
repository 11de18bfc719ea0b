/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What orc.c builds and orc_step.c reads; orc.c has the layout. */
#ifndef XTOP_UNWIND_ORC_TABLE_H
#define XTOP_UNWIND_ORC_TABLE_H

#include "unwind/orc.h"

struct orc_special_range {
	uint64_t start, end;
	enum orc_special kind;
};

struct orc {
	uint64_t start, end; /* of the code */
	size_t n, n_blocks, n_rows;
	uint32_t *blocks;
	uint8_t *entries;
	struct orc_row *rows;

	struct orc_special_range specials[ORC_MAX_SPECIALS]; /* in the order they were added */
	size_t n_specials;
	uint64_t specials_start, specials_end; /* all of them are in there */
};

#define ORC_KEPT_BYTES 3 /* of an entry */

/* Blocks of TEXT_BYTES of code. */
size_t orc_blocks(uint64_t text_bytes);
/* N entries, and what is read behind them. */
size_t orc_entries_bytes(size_t n);

#endif
