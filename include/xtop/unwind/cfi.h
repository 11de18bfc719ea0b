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
	const uint8_t *bytes; /* NULL: the image has no such section */
	size_t size_bytes;
	uint64_t address; /* the image's address of bytes[0] */
	/* missing bytes, ascending; entries that touch a gap are skipped */
	const struct bytes_gap *gaps;
	size_t n_gaps;
	bool is_short; /* 32-bit code: addresses and words have 4 bytes */
	/* true: arm64, or 32-bit Arm if is_short; false: x86-64, or i386 if is_short */
	bool is_arm64;
};

/* The call-frame information of one image. A function that gets these sections keeps no pointer. */
struct cfi_sections {
	struct cfi_section eh_frame, eh_frame_hdr, debug_frame;
	struct entry_points entries; /* code addresses where the image begins to run */
	/* offsets of the FDEs in eh_frame whose bytes are there; NULL: all bytes are there */
	const uint32_t *offsets;
	size_t n_offsets;
	struct work *work; /* tells when to stop building tables; NULL: never */
};

/*
 * Reads the address of .eh_frame in the image from HDR, an .eh_frame_hdr section. Returns false if
 * HDR is damaged, or if HDR alone does not tell the address.
 */
bool cfi_find_eh_frame(const struct cfi_section *hdr, uint64_t *address);

#endif
