/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libunwind's view of one image's call-frame information: for the rows that cfi.h has no rule for,
 * and in the tests for all, to check the compiled table against. Resolver's thread.
 */
#ifndef XTOP_UNWIND_DWARF_H
#define XTOP_UNWIND_DWARF_H

#include "unwind/cfi_table.h"

#define DWARF_MAX_FUNCTIONS (1U << 20)
#define DWARF_MAX_BYTES     (16U << 20)

struct dwarf;

/*
 * Of the functions in SECTIONS those that CFI leaves rows of to libunwind; CFI NULL: all that are
 * safe to give to it. *DWARFP is NULL when there are none. Keeps what it needs of the bytes.
 */
struct xtop_error *dwarf_create(const struct cfi_sections *sections, const struct cfi *cfi,
				struct dwarf **dwarfp);
void dwarf_destroy(struct dwarf *dwarf); /* NULL allowed */

/* BIAS as for cfi_step(). The cursor is unchanged unless it returns STEP_CALLER. */
enum unwind_step dwarf_step(struct dwarf *dwarf, uint64_t bias, struct cursor *cursor);

size_t dwarf_memory_bytes(const struct dwarf *dwarf); /* libunwind's own as if it was needed */

#endif
