/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies pieces of stacks; see pieces.h. The guest may have moved any page since the last sample,
 * so each sample translates every address anew, through page-table pages that stay mapped. In the
 * stop only pages that are already mapped are read. Outside the stop the same walk maps the missing
 * pages.
 */
#include "config.h"

#include <string.h>

#include "sample/pieces.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/memory/walk.h"

/* Why no page was found. This function and the next are not inline: a stop seldom needs them. */
static __attribute__((noinline)) enum sample_cut pieces_miss(struct pieces *pieces,
							     enum walk_result result)
{
	pieces->seen_address = PIECES_NOTHING_SEEN;
	if (result != WALK_NOT_MAPPED)
		return CUT_NOT_PRESENT;
	pieces->missed = true;
	return CUT_NOT_MAPPED;
}

/* Outside the stop. Mapping a page may unmap others, so seen_address is not set. */
static __attribute__((noinline)) enum sample_cut
pieces_map(struct pieces *pieces, struct memory_root root, uint64_t address)
{
	enum walk_result result = frame_cache_get_page(pieces->cache, root, GVA(address),
						       pieces->now_ns, &pieces->seen);

	return result == WALK_OK ? CUT_NONE : pieces_miss(pieces, result);
}

/* Finds the page that holds ADDRESS, for pieces->seen. The page is valid until the next call. */
static inline __attribute__((always_inline)) enum sample_cut
pieces_find_page(struct pieces *pieces, struct memory_root root, uint64_t address)
{
	enum walk_result result;

	address &= ~(uint64_t)GUEST_PAGE_MASK;
	if (pieces->seen_address == address && pieces->seen_cr3 == root.cr3)
		return CUT_NONE;
	if (!pieces->to)
		return pieces_map(pieces, root, address);
	result = frame_cache_find_page(pieces->cache, root, GVA(address), &pieces->seen);
	if (result != WALK_OK)
		return pieces_miss(pieces, result);
	pieces->seen_address = address;
	pieces->seen_cr3 = root.cr3;
	return CUT_NONE;
}

/* The byte at ADDRESS, which lies in the page that was found last. */
static inline const char *pieces_byte(const struct pieces *pieces, uint64_t address)
{
	return (const char *)pieces->seen + (address & GUEST_PAGE_MASK);
}

enum sample_cut pieces_read(struct pieces *pieces, struct memory_root root, uint64_t address,
			    uint64_t *word)
{
	enum sample_cut cut;

	if (address % sizeof(*word))
		return CUT_NOT_PRESENT;
	cut = pieces_find_page(pieces, root, address);
	if (cut == CUT_NONE)
		memcpy(word, pieces_byte(pieces, address), sizeof(*word));
	return cut;
}

frame_t pieces_find_frame(struct pieces *pieces, struct memory_root root, uint64_t address)
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

/*
 * LENGTH, or less if the record or the address space ends before. A guest may put its stack pointer
 * near the end of the address space.
 */
static size_t pieces_clamp(const struct pieces *pieces, uint64_t address, uint64_t length)
{
	uint64_t limit = UINT64_MAX - address;

	if (limit > pieces->left_bytes)
		limit = pieces->left_bytes;
	return length < limit ? length : limit;
}

/* Copies from *AT to END, page by page, and moves *AT. TO is NULL when nothing is copied. */
static inline __attribute__((always_inline)) enum sample_cut
pieces_copy(struct pieces *pieces, struct memory_root root, uint64_t *at, uint64_t end, char *to)
{
	while (*at < end) {
		size_t size = GUEST_PAGE_SIZE - (*at & GUEST_PAGE_MASK);
		enum sample_cut cut = pieces_find_page(pieces, root, *at);

		if (cut != CUT_NONE)
			return cut;
		if (size > end - *at)
			size = end - *at;
		if (to) {
			memcpy(to, pieces_byte(pieces, *at), size);
			to += size;
		}
		*at += size;
	}
	return CUT_LIMIT;
}

enum sample_cut pieces_add(struct pieces *pieces, enum sample_stack_kind kind,
			   struct memory_root root, uint64_t address, uint64_t length)
{
	struct sample_stack *head = NULL;
	uint64_t at = address;
	enum sample_cut cut;
	size_t done;

	pieces->end = address;
	if (pieces->n == SAMPLE_MAX_STACKS)
		return CUT_LIMIT;
	if (pieces->to)
		head = (struct sample_stack *)(pieces->to + pieces->size_bytes);
	cut = pieces_copy(pieces, root, &at, address + pieces_clamp(pieces, address, length),
			  head ? (char *)(head + 1) : NULL);
	done = at - address;
	if (!done)
		return cut;
	if (head)
		*head = (struct sample_stack){ .address = address,
					       .size_bytes = (uint32_t)done,
					       .kind = kind };
	pieces->size_bytes += sizeof(*head) + ((done + 7) & ~(size_t)7);
	pieces->left_bytes -= done;
	pieces->extents[pieces->n].address = address;
	pieces->extents[pieces->n++].end = pieces->end = at;
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
