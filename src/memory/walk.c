/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk.h for all architectures: the root says which page tables they are. The walk of 64-bit
 * x86 is inline here as in frame_cache.c, and asks nothing of the others. Any thread; no state.
 */
#include "config.h"

#include "memory/walk_arm32.h"
#include "memory/walk_arm64.h"
#include "memory/walk_x86.h"

static enum walk_result walk_physical(uint64_t address, struct walk_span *span)
{
	*span = (struct walk_span){ .frame = FRAME(address >> GUEST_PAGE_SHIFT),
				    .rest_bytes = walk_rest(address, GUEST_PAGE_SHIFT),
				    .shift = GUEST_PAGE_SHIFT };
	return WALK_OK;
}

enum walk_result walk_other(const volatile uint64_t *(*table)(void *context, frame_t frame),
			    void *context, struct memory_root root, uint64_t address,
			    struct walk_span *span)
{
	switch (root.width) {
	case ROOT_ARM64:
		return walk_arm64(table, context, root, address, span);
	case ROOT_ARM32:
		return walk_arm32(table, context, root, address, span);
	case ROOT_PHYSICAL:
		return walk_physical(address, span);
	default:
		return walk_32(table, context, root, address, span);
	}
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
	switch (root.width) {
	case ROOT_ARM64:
		return walk_arm64_index(root, address.value, step);
	case ROOT_ARM32:
		return walk_arm32_index(root, address.value, step);
	default:
		return walk_x86_index(root, address.value, step);
	}
}

unsigned walk_n_places(struct memory_root root, unsigned step)
{
	return root.width == ROOT_ARM32 && !root.arm64.is_long && step ? ARM32_TABLES_A_PAGE : 1;
}
