/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies and compiles a kernel's unwind tables; see exidx_tables.h. Resolver's thread. */
#include "config.h"

#include "linux/kernel/exidx_tables.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/limit.h"
#include "xtop/os/kernel_code.h"
#include "xtop/unwind/exidx.h"

#define EXIDX_MAX_BYTES       LIMIT(8U << 20, 64U << 10) /* limit for each of the two tables */
#define EXIDX_ENTRY_BYTES     8
/* longest entry of the second table: two words, and as many as a byte can count (exidx.c) */
#define EXIDX_ENTRY_MAX_BYTES ((2 + UINT8_MAX) * sizeof(uint32_t))

static uint8_t *exidx_copy(const struct linux_guest *guest, uint64_t address, size_t size_bytes)
{
	uint8_t *bytes = calloc(1, size_bytes);

	/* Pages after the tables may be missing. */
	if (bytes)
		memory_read_bulk(guest->memory, guest->root, address, bytes, size_bytes);
	return bytes;
}

/* Size of the second table, which starts at END, the end of INDEX. */
static size_t exidx_table_bytes(const uint8_t *index, size_t size_bytes, uint64_t end)
{
	uint64_t start = end - size_bytes, most = 0;
	uint32_t word;

	for (size_t at = 4; at + sizeof(word) <= size_bytes; at += EXIDX_ENTRY_BYTES) {
		uint32_t to;

		memcpy(&word, index + at, sizeof(word));
		to = (uint32_t)(start + at) + (uint32_t)((int32_t)(word << 1) >> 1);
		if (!(word >> 31) && to > end + most && to - end < EXIDX_MAX_BYTES)
			most = to - end;
	}
	return most + EXIDX_ENTRY_MAX_BYTES;
}

void exidx_read_kernel(const struct linux_guest *guest, struct image *image)
{
	uint64_t start = guest->symbols[LINUX_EXIDX_START], end = guest->symbols[LINUX_EXIDX_STOP];
	_cleanup_free_ uint8_t *index = NULL, *table = NULL;
	struct code_source source;
	size_t table_bytes;

	if (guest->root.width != ROOT_ARM32 || !start || end <= start ||
	    end - start > EXIDX_MAX_BYTES)
		return;
	index = exidx_copy(guest, start, end - start);
	if (!index)
		return;
	table_bytes = exidx_table_bytes(index, end - start, end);
	table = exidx_copy(guest, end, table_bytes);
	if (!table)
		return;
	error_destroy(unwind_tables_build_exidx(
		&image->tables, &(struct exidx_sections){
					.index = { index, end - start, (uint32_t)start },
					.table = { table, table_bytes, (uint32_t)end },
					.work = image->work,
					.is_linux = true,
				}));
	if (image->tables.exidx && kernel_code_open(guest->memory, guest->root, image, &source))
		error_destroy(unwind_tables_build_links(&image->tables, &source));
}
