/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copying pieces of stack; see pieces.h. Every sample translates every page anew, through
 * page-table pages that stay mapped: the guest may have moved any page since. In the stop only
 * pages that are mapped already are read. Outside the stop the same walk maps the missing ones.
 */
#include "config.h"

#include <string.h>

#include "sample/pieces.h"
#include "xtop/frame_cache.h"
#include "xtop/walk.h"

static enum sample_cut pieces_walk(struct pieces *pieces, struct memory_root root, uint64_t address,
				   const char **page)
{
	enum walk_result result;
	const void *found;

	if (pieces->to)
		result = frame_cache_find_page(pieces->cache, root, GVA(address), &found);
	else
		result = frame_cache_get_page(pieces->cache, root, GVA(address), pieces->now_ns,
					      &found);
	switch (result) {
	case WALK_OK:
		*page = found;
		return CUT_NONE;
	case WALK_NOT_MAPPED:
		pieces->missed = true;
		return CUT_NOT_MAPPED;
	case WALK_NOT_PRESENT:
	case WALK_NOT_CANONICAL:
	case WALK_BAD:
		break;
	}
	return CUT_NOT_PRESENT;
}

/* The page that holds ADDRESS, its first byte; valid until the next call. */
static inline enum sample_cut pieces_page(struct pieces *pieces, struct memory_root root,
					  uint64_t address, const char **page)
{
	enum sample_cut cut;

	address &= ~(uint64_t)GUEST_PAGE_MASK;
	if (pieces->seen && pieces->seen_address == address && pieces->seen_cr3 == root.cr3) {
		*page = pieces->seen;
		return CUT_NONE;
	}
	cut = pieces_walk(pieces, root, address, page);
	if (cut == CUT_NONE && pieces->to) { /* outside the stop, mapping a page may unmap others */
		pieces->seen = *page;
		pieces->seen_address = address;
		pieces->seen_cr3 = root.cr3;
	}
	return cut;
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

frame_t pieces_frame(struct pieces *pieces, struct memory_root root, uint64_t address)
{
	enum walk_result result;
	frame_t frame;

	if (pieces->to)
		result = frame_cache_find_frame(pieces->cache, root, GVA(address), &frame);
	else
		result = frame_cache_get_frame(pieces->cache, root, GVA(address), pieces->now_ns,
					       &frame);
	pieces->missed |= result == WALK_NOT_MAPPED;
	return result == WALK_OK ? frame : FRAME(0);
}

/* A guest may put its stack pointer near the end of the address space: never go across. */
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
