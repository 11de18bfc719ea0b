/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call-frame information: the sections of an image that say, for each code address, where the
 * caller's registers are. unwind_tables_build_cfi() (unwind.h) turns them into tables. The
 * bytes are hostile.
 */
#ifndef XTOP_CFI_H
#define XTOP_CFI_H

#include <stdbool.h>

#include "xtop/base/bytes.h"
#include "xtop/elf/loads.h"

struct cfi_section {
	const uint8_t *bytes; /* NULL: there is no such section */
	size_t size_bytes;
	uint64_t address; /* of bytes[0], in the image */
	const struct bytes_gap *gaps; /* ascending; an entry that touches a gap is left out */
	size_t n_gaps;
	bool is_short; /* of code of 32 bits: addresses and words have 4 bytes */
	bool is_arm64; /* or 32-bit Arm, if is_short; else x86-64, or i386 */
};

/* Need not outlive the call that they are given to. */
struct cfi_sections {
	struct cfi_section eh_frame, eh_frame_hdr, debug_frame;
	struct entry_points entries; /* where the image begins to run */
};

/*
 * The address in the image where HDR, an .eh_frame_hdr, says that .eh_frame begins. False: HDR is
 * damaged, or the address needs more than HDR to be known.
 */
bool cfi_find_eh_frame(const struct cfi_section *hdr, uint64_t *address);

#endif
