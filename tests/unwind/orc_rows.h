/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ORC tables row by row, written as a kernel has them in layout ORC_V3, which numbers as we do. */
#ifndef TESTS_UNWIND_ORC_ROWS_H
#define TESTS_UNWIND_ORC_ROWS_H

#include <stdlib.h>
#include <string.h>

#include "unwind/orc_table.h"

struct orc_entry {
	uint64_t address;
	struct orc_row row;
};

static inline void orc_put_entry(const struct orc_row *row, uint8_t bytes[ORC_ENTRY_BYTES])
{
	const uint16_t words[] = { (uint16_t)row->sp_offset, (uint16_t)row->bp_offset,
				   (uint16_t)((row->sp_reg & 15) | (row->bp_reg & 15) << 4 |
					      (row->type & 7) << 8 | (row->signal & 1) << 11) };

	for (size_t i = 0; i < ORC_ENTRY_BYTES; i++)
		bytes[i] = (uint8_t)(words[i / 2] >> 8 * (i % 2));
}

/* Like orc_create(). Addresses begin at TEXT_START and reach 2 GiB at most after it. */
static inline struct xtop_error *orc_create_rows(const struct orc_entry *entries, size_t n,
						 uint64_t text_start, uint64_t text_end,
						 struct orc **orcp)
{
	const struct orc_layout layout = orc_layout_of(ORC_V3);
	uint8_t *bytes = malloc((n + 1) * ORC_ENTRY_BYTES);
	int32_t *ips = malloc((n + 1) * ORC_IP_BYTES);
	struct orc_source source = { .ips = ips,
				     .entries = bytes,
				     .n = n,
				     .ips_address = text_start,
				     .text_start = text_start,
				     .text_end = text_end };
	struct xtop_error *error;

	if (!bytes || !ips)
		abort();
	for (size_t i = 0; i < n; i++) {
		ips[i] = (int32_t)(entries[i].address - text_start - i * ORC_IP_BYTES);
		orc_put_entry(&entries[i].row, bytes + i * ORC_ENTRY_BYTES);
	}
	error = orc_create(&source, &layout, orcp);
	free(bytes);
	free(ips);
	return error;
}

#endif
