/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies pieces of stacks; see piece_writer.h. The guest may have moved any page since the last
 * sample, so each sample translates every address anew, through page-table pages that stay mapped.
 * In the stop only pages that are already mapped are read. Outside the stop the same walk maps the
 * missing pages.
 */
#include "config.h"

#include <string.h>

#include "sample/piece_writer.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/memory/walk.h"

/* Why no page was found. This function and the next are not inline: a stop seldom needs them. */
static __attribute__((noinline)) enum sample_cut piece_writer_miss(struct piece_writer *pieces,
								   enum walk_result result)
{
	pieces->seen_address = PIECE_WRITER_NOTHING_SEEN;
	if (result != WALK_NOT_MAPPED)
		return CUT_NOT_PRESENT;
	pieces->missed = true;
	return CUT_NOT_MAPPED;
}

/* Outside the stop. Mapping a page may unmap others, so seen_address is not set. */
static __attribute__((noinline)) enum sample_cut
piece_writer_map(struct piece_writer *pieces, struct memory_root root, uint64_t address)
{
	enum walk_result result = frame_cache_get_page(pieces->cache, root, GVA(address),
						       pieces->now_ns, &pieces->seen);

	return result == WALK_OK ? CUT_NONE : piece_writer_miss(pieces, result);
}

/* Finds the page that holds ADDRESS, for pieces->seen. The page is valid until the next call. */
static inline __attribute__((always_inline)) enum sample_cut
piece_writer_find_page(struct piece_writer *pieces, struct memory_root root, uint64_t address)
{
	enum walk_result result;

	address &= ~(uint64_t)GUEST_PAGE_MASK;
	if (pieces->seen_address == address && pieces->seen_cr3 == root.cr3)
		return CUT_NONE;
	if (!pieces->to)
		return piece_writer_map(pieces, root, address);
	result = frame_cache_find_page(pieces->cache, root, GVA(address), &pieces->seen);
	if (result != WALK_OK)
		return piece_writer_miss(pieces, result);
	pieces->seen_address = address;
	pieces->seen_cr3 = root.cr3;
	return CUT_NONE;
}

/* The byte at ADDRESS, which lies in the page that was found last. */
static inline const char *piece_writer_byte(const struct piece_writer *pieces, uint64_t address)
{
	return (const char *)pieces->seen + (address & GUEST_PAGE_MASK);
}

enum sample_cut piece_writer_read(struct piece_writer *pieces, struct memory_root root,
				  uint64_t address, uint64_t *word)
{
	enum sample_cut cut;

	if (address % sizeof(*word))
		return CUT_NOT_PRESENT;
	cut = piece_writer_find_page(pieces, root, address);
	if (cut == CUT_NONE)
		memcpy(word, piece_writer_byte(pieces, address), sizeof(*word));
	return cut;
}

frame_t piece_writer_find_frame(struct piece_writer *pieces, struct memory_root root,
				uint64_t address)
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
static size_t piece_writer_clamp(const struct piece_writer *pieces, uint64_t address,
				 uint64_t length)
{
	uint64_t limit = UINT64_MAX - address;

	if (limit > pieces->left_bytes)
		limit = pieces->left_bytes;
	return length < limit ? length : limit;
}

/* Copies from *AT to END, page by page, and moves *AT. TO is NULL when nothing is copied. */
static inline __attribute__((always_inline)) enum sample_cut
piece_writer_copy(struct piece_writer *pieces, struct memory_root root, uint64_t *at, uint64_t end,
		  char *to)
{
	while (*at < end) {
		size_t size = GUEST_PAGE_SIZE - (*at & GUEST_PAGE_MASK);
		enum sample_cut cut = piece_writer_find_page(pieces, root, *at);

		if (cut != CUT_NONE)
			return cut;
		if (size > end - *at)
			size = end - *at;
		if (to) {
			memcpy(to, piece_writer_byte(pieces, *at), size);
			to += size;
		}
		*at += size;
	}
	return CUT_LIMIT;
}

enum sample_cut piece_writer_add(struct piece_writer *pieces, enum sample_stack_kind kind,
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
	cut = piece_writer_copy(pieces, root, &at,
				address + piece_writer_clamp(pieces, address, length),
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

bool piece_writer_have(const struct piece_writer *pieces, uint64_t address)
{
	for (unsigned i = 0; i < pieces->n; i++)
		if (address - pieces->extents[i].address <
		    pieces->extents[i].end - pieces->extents[i].address)
			return true;
	return false;
}
