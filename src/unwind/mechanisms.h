/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of unwinding mechanisms, in the order in which they are tried for each frame. A new
 * mechanism is one file, one line here, and one member in struct unwind_tables (unwind.h):
 *
 *   MECHANISM(NAME, X86, ARM64, WAYS, BY)   NAME: the member of struct unwind_tables
 *                                           X86, ARM64: the step function for the architecture, or
 *                                           unwind_no_step if there is none
 *                                           WAYS: bit i: way i (enum unwind_how) uses the mechanism
 *                                           BY: enum unwind_by of its frames
 *
 *   enum unwind_step NAME_step(struct NAME *table, uint64_t bias, struct cursor *cursor);
 *   void NAME_destroy(struct NAME *table);
 *   size_t NAME_memory_bytes(const struct NAME *table);
 *
 * The hypercall page is first: other tables for this page were made before Xen wrote the stubs.
 *
 * Go is before CFI: if a Go program has CFI, it is a .debug_frame that knows neither the end of a
 * goroutine nor the functions that change stacks.
 *
 * This is a macro and not an array of function pointers, so that a step stays a direct call: a step
 * takes some 20 ns (bench_unwind_recorded, doc/HACKING §5). Frame pointers need no table: unwind.c
 * tries them when no mechanism here covers the address.
 */
#ifndef XTOP_UNWIND_MECHANISMS_H
#define XTOP_UNWIND_MECHANISMS_H

#include "unwind/cfi_table.h"
#include "unwind/computed.h"
#include "unwind/dwarf.h"
#include "unwind/exidx.h"
#include "unwind/first_code.h"
#include "unwind/go.h"
#include "unwind/orc_table.h"
#include "unwind/seh.h"
#include "unwind/stubs.h"
#include "xtop/unwind/unwind.h"

static inline enum unwind_step unwind_no_step(const void *table, uint64_t bias,
					      struct cursor *cursor)
{
	(void)table, (void)bias, (void)cursor;
	return STEP_NOT_COVERED;
}

#define UNWIND_MECHANISMS(MECHANISM)                                                               \
	MECHANISM(stubs, stubs_step, unwind_no_step, 1U << UNWIND_AUTO, UNWIND_BY_COMPUTED)        \
	MECHANISM(orc, orc_step, unwind_no_step, 1U << UNWIND_AUTO | 1U << UNWIND_ORC,             \
		  UNWIND_BY_ORC)                                                                   \
	MECHANISM(go, go_step, go_step, 1U << UNWIND_AUTO, UNWIND_BY_GO)                           \
	MECHANISM(cfi, cfi_step, cfi_arm64_step, 1U << UNWIND_AUTO | 1U << UNWIND_DWARF,           \
		  UNWIND_BY_CFI)                                                                   \
	MECHANISM(dwarf, dwarf_step, unwind_no_step, 1U << UNWIND_AUTO | 1U << UNWIND_DWARF,       \
		  UNWIND_BY_CFI)                                                                   \
	MECHANISM(seh, seh_step, unwind_no_step, 1U << UNWIND_AUTO | 1U << UNWIND_DWARF,           \
		  UNWIND_BY_SEH)                                                                   \
	MECHANISM(exidx, unwind_no_step, exidx_step, 1U << UNWIND_AUTO | 1U << UNWIND_DWARF,       \
		  UNWIND_BY_CFI)                                                                   \
	MECHANISM(computed, computed_step, computed_step, 1U << UNWIND_AUTO, UNWIND_BY_COMPUTED)   \
	MECHANISM(first_code, first_code_step, unwind_no_step,                                     \
		  1U << UNWIND_AUTO | 1U << UNWIND_DWARF, UNWIND_BY_CFI)

#endif
