/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xtop/walk.h for all architectures: the root says which page tables they are. The walk of 64-bit
 * x86 is inline here as in frame_cache.c, and asks nothing of the others. Any thread; no state.
 */
#include "config.h"

#include "memory/walk_arm64.h"
#include "memory/walk_x86.h"

enum walk_result walk_other(const volatile uint64_t *(*table)(void *context, frame_t frame),
			    void *context, struct memory_root root, uint64_t address,
			    struct walk_span *span)
{
	return root.width == ROOT_ARM64 ? walk_arm64(table, context, root, address, span)
					: walk_32(table, context, root, address, span);
}

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
	return root.width == ROOT_ARM64 ? walk_arm64_index(root, address.value, step)
					: walk_x86_index(root, address.value, step);
}
