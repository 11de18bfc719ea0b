/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copying pieces of stack; see pieces.h. Every page of them is translated anew at each sample,
 * through page-table pages that stay mapped: the guest may have moved any of them since. In the
 * stop only pages that are mapped already are read; the same walk outside it maps what was missing.
 */
#include "config.h"

#include <string.h>

#include "sample/pieces.h"

struct pieces pieces_in_stop(struct frame_cache *cache, char *to)
{
	return (struct pieces){ .cache = cache, .to = to, .left_bytes = SAMPLE_STACK_LIMIT_BYTES };
}

struct pieces pieces_to_map(struct frame_cache *cache, uint64_t now_ns)
{
	return (struct pieces){ .cache = cache,
				.now_ns = now_ns,
				.left_bytes = SAMPLE_STACK_LIMIT_BYTES };
}

static const volatile uint64_t *pieces_find(void *context, frame_t frame)
{
	struct pieces *pieces = context;

	return frame_cache_find(pieces->cache, frame);
}

static const volatile uint64_t *pieces_map(void *context, frame_t frame)
{
	struct pieces *pieces = context;

	return frame_cache_get(pieces->cache, frame, pieces->now_ns);
}

/* The page at ADDRESS, its first byte; valid until the next call. */
static enum sample_cut pieces_page(struct pieces *pieces, struct memory_root root, uint64_t address,
				   const char **page)
{
	struct walk_reader reader = { .table = pieces->to ? pieces_find : pieces_map,
				      .context = pieces };
	enum walk_result result;
	frame_t frame = FRAME(0);

	address &= ~(uint64_t)GUEST_PAGE_MASK;
	if (pieces->seen && pieces->seen_address == address && pieces->seen_cr3 == root.cr3) {
		*page = pieces->seen;
		return CUT_NONE;
	}
	result = walk_x86(&reader, root, GVA(address), &frame);
	if (result == WALK_OK) {
		*page = (const char *)reader.table(pieces, frame);
		if (!*page)
			result = WALK_NOT_MAPPED;
	}
	if (result == WALK_NOT_MAPPED) {
		pieces->missed = true;
		return CUT_NOT_MAPPED;
	}
	if (result != WALK_OK)
		return CUT_NOT_PRESENT;
	if (pieces->to) { /* to map a page may unmap others */
		pieces->seen = *page;
		pieces->seen_address = address;
		pieces->seen_cr3 = root.cr3;
	}
	return CUT_NONE;
}

enum sample_cut pieces_read(struct pieces *pieces, struct memory_root root, uint64_t address,
			    uint64_t *word)
{
	enum sample_cut cut;
	const char *page;

	if (address % sizeof(*word))
		return CUT_NOT_PRESENT;
	cut = pieces_page(pieces, root, address, &page);
	if (cut == CUT_NONE)
		memcpy(word, page + (address & GUEST_PAGE_MASK), sizeof(*word));
	return cut;
}

/* Never across the end of the address space, where a guest may well put its stack pointer. */
static size_t pieces_clamp(const struct pieces *pieces, uint64_t address, uint64_t length)
{
	uint64_t limit = UINT64_MAX - address;

	if (limit > pieces->left_bytes)
		limit = pieces->left_bytes;
	return length < limit ? length : limit;
}

/* TO is NULL when nothing is copied. */
static enum sample_cut pieces_copy(struct pieces *pieces, struct memory_root root, uint64_t address,
				   char *to, size_t length, size_t *donep)
{
	size_t done = 0;

	while (done < length) {
		uint64_t at = address + done;
		size_t size = GUEST_PAGE_SIZE - (at & GUEST_PAGE_MASK);
		const char *page;
		enum sample_cut cut = pieces_page(pieces, root, at, &page);

		if (cut != CUT_NONE) {
			*donep = done;
			return cut;
		}
		if (size > length - done)
			size = length - done;
		if (to)
			memcpy(to + done, page + (at & GUEST_PAGE_MASK), size);
		done += size;
	}
	*donep = done;
	return CUT_LIMIT;
}

enum sample_cut pieces_add(struct pieces *pieces, enum sample_stack_kind kind,
			   struct memory_root root, uint64_t address, uint64_t length,
			   uint64_t *end)
{
	struct sample_stack *head = NULL;
	enum sample_cut cut;
	char *bytes = NULL;
	size_t done;

	*end = address;
	if (pieces->n == SAMPLE_MAX_STACKS)
		return CUT_LIMIT;
	if (pieces->to) {
		head = (struct sample_stack *)(pieces->to + pieces->size_bytes);
		bytes = (char *)(head + 1);
	}
	cut = pieces_copy(pieces, root, address, bytes, pieces_clamp(pieces, address, length),
			  &done);
	if (!done)
		return cut;
	if (head)
		*head = (struct sample_stack){ .address = address,
					       .size_bytes = (uint32_t)done,
					       .kind = kind };
	pieces->size_bytes += sizeof(*head) + ((done + 7) & ~(size_t)7);
	pieces->left_bytes -= done;
	pieces->extents[pieces->n].address = address;
	pieces->extents[pieces->n++].end = *end = address + done;
	return cut;
}

bool pieces_have(const struct pieces *pieces, uint64_t address)
{
	for (unsigned i = 0; i < pieces->n; i++)
		if (address - pieces->extents[i].address <
		    pieces->extents[i].end - pieces->extents[i].address)
			return true;
	return false;
}
