/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xtop/walk.h for x86-64: translates a guest-virtual address to a 4 KiB frame. The caller reads the
 * page tables (walk_x86.h has their format). Any thread; no state.
 */
#include "config.h"

#include "memory/walk_x86.h"

enum walk_result walk_find_frame(const struct walk_reader *reader, struct memory_root root,
				 gva_t address, frame_t *frame)
{
	struct walk_span span = { .frame = *frame };
	enum walk_result result = walk(reader->table, reader->context, root, address.value, &span);

	*frame = span.frame;
	return result;
}

enum walk_result walk_find_span(const struct walk_reader *reader, struct memory_root root,
				gva_t address, struct walk_span *span)
{
	*span = (struct walk_span){ .rest_bytes = 0 };
	return walk(reader->table, reader->context, root, address.value, span);
}
