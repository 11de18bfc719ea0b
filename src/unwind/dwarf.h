/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call-frame information of one image for libunwind, which evaluates the rows for which the
 * compiled table (cfi_table.h) has no rule. The tests use it for all rows, to check the compiled
 * table against libunwind. Resolver's thread.
 */
#ifndef XTOP_UNWIND_DWARF_H
#define XTOP_UNWIND_DWARF_H

#include "unwind/cfi_table.h"

#define DWARF_MAX_FUNCTIONS (1U << 20)
#define DWARF_MAX_BYTES     (16U << 20)

struct dwarf;

/*
 * Copies the functions of SECTIONS that have rows which CFI leaves to libunwind. CFI NULL: copies
 * all functions that are safe for libunwind. *DWARFP is NULL if there is no function.
 */
struct xtop_error *dwarf_create(const struct cfi_sections *sections, const struct cfi *cfi,
				struct dwarf **dwarfp);
void dwarf_destroy(struct dwarf *dwarf); /* NULL allowed */

/* BIAS: address in the guest - address in the image. */
enum unwind_step dwarf_step(struct dwarf *dwarf, uint64_t bias, struct cursor *cursor);

/* Includes libunwind's memory, even if no step has used libunwind yet. */
size_t dwarf_memory_bytes(const struct dwarf *dwarf);

#endif
