/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiled call-frame information: the .eh_frame or .debug_frame of one image, turned once into a
 * sorted table (code address -> how to find the caller), so that a step is a search and one read of
 * the stack. What the table cannot say, rows with DWARF expressions and other rare things, it leaves
 * to libunwind (dwarf.h). Addresses are the image's own. Resolver's thread.
 *
 *   bytes ─► cfi_entry.c ─► cfi_program.c ─► cfi_compile.c ─► struct cfi ─► cfi_step()
 *            CIE, FDE       instructions     rows, rules      table         cfi.c
 */
#ifndef XTOP_UNWIND_CFI_H
#define XTOP_UNWIND_CFI_H

#include <stddef.h>

#include "unwind/cursor.h"
#include "xtop/bytes.h"
#include "xtop/error.h"

/* Limits of what a guest's file may hold; what is beyond is left out and counted. */
#define CFI_MAX_ENTRY_BYTES   (64U << 10) /* of one FDE */
#define CFI_MAX_CIE_BYTES     1024
#define CFI_MAX_STATES        64          /* DW_CFA_remember_state within each other */
#define CFI_MAX_FDES          (1U << 20)
#define CFI_MAX_ROWS          (4U << 20)
/* Read for the list of a section, each time one is used: linkers have one of 24 bytes for many FDEs. */
#define CFI_MAX_CIES_BYTES(section_bytes) (2 * (section_bytes) + (64U << 10))
#define CFI_MAX_PROGRAM_BYTES (16U << 20) /* executed for one table, CIEs each time they are used */

struct cfi_section {
	const uint8_t *bytes; /* NULL: none */
	size_t size_bytes;
	uint64_t address; /* of bytes[0] in the image */
	const struct bytes_gap *gaps; /* ascending; what touches one is left out */
	size_t n_gaps;
};

/* Need not outlive the call they are given to. */
struct cfi_sections {
	struct cfi_section eh_frame, eh_frame_hdr, debug_frame;
};

struct cfi;

/* *CFIP is NULL when there is nothing in the sections. Error: memory. */
struct xtop_error *cfi_compile(const struct cfi_sections *sections, struct cfi **cfip);
void cfi_destroy(struct cfi *cfi); /* NULL allowed */

/*
 * BIAS: address in the guest - address in the image. STEP_NOT_COVERED: no CFI for the address, or a
 * row for libunwind.
 */
enum unwind_step cfi_step(struct cfi *cfi, uint64_t bias, struct cursor *cursor);

/* Whether a row within [start, end) is left to libunwind. */
bool cfi_asks(const struct cfi *cfi, uint64_t start, uint64_t end);

struct cfi_counts {
	size_t fdes;
	size_t refused;      /* entries left out: damaged, beyond a limit, or of a kind not known */
	size_t rows, rules;
	size_t asks;         /* rows for libunwind */
	size_t memory_bytes;
};
struct cfi_counts cfi_counts(const struct cfi *cfi);

#endif
