/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xtop/walk.h for x86-64. The caller's walk_reader gives the page tables; walk_x86.h explains their
 * format. Any thread; no state.
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

size_t walk_index(struct memory_root root, gva_t address, unsigned step)
{
	unsigned top = root.la57 ? SHIFT_LA57 : SHIFT_TOP;

	return address.value >> (top - step * WALK_ENTRY_BITS) & ((1 << WALK_ENTRY_BITS) - 1);
}
