/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to recording/: pages of a guest's memory, by frame, as they were last seen. The writer of
 * a recording has one mirror, the reader of the recording another. Both make the same steps, so it
 * is enough to record the lines of a page that differ from the mirror.
 *
 *   a page is 64 lines of 64 bytes; bit i of a set of lines stands for line i
 *   a page that is new in the mirror was zeros before, and always comes with at least one line
 *
 * Resolver's thread. Memory grows with the pages, up to the given limit.
 */
#ifndef RECORDING_PAGE_MIRROR_H
#define RECORDING_PAGE_MIRROR_H

#include "xtop/error.h"
#include "xtop/types.h"

#define PAGE_LINE_BYTES 64
#define PAGE_LINES      64

_Static_assert(PAGE_LINE_BYTES * PAGE_LINES == GUEST_PAGE_SIZE, "a bit of uint64_t each");

static inline size_t page_lines_bytes(uint64_t lines)
{
	return (size_t)__builtin_popcountll(lines) * PAGE_LINE_BYTES;
}

struct page_mirror;

struct xtop_error *page_mirror_create(size_t max_pages, struct page_mirror **mirrorp);
void page_mirror_destroy(struct page_mirror *mirror); /* NULL allowed */
/* GUEST_PAGE_SIZE bytes, until FRAME changes; NULL: not there. */
const char *page_mirror_find(const struct page_mirror *mirror, frame_t frame);
/* False: it was not there. */
bool page_mirror_remove(struct page_mirror *mirror, frame_t frame);

/* --- the side that writes --------------------------------------------------------------------- */

/*
 * FRAME was seen to hold PAGE. *LINESP says what is new; 0: nothing. False: there is no room or no
 * memory for one more page. Then *LINESP is untouched, and *FULLP is a page that was not seen for
 * long: remove that page and call again. *FULLP is FRAME itself when there is none to remove.
 */
bool page_mirror_update(struct page_mirror *mirror, frame_t frame, const void *page,
			uint64_t *linesp, frame_t *fullp);
/* page_mirror_is_seen() is about the time since this call. */
void page_mirror_begin_turn(struct page_mirror *mirror);
/* FRAME is there and was seen in this turn. */
bool page_mirror_is_seen(const struct page_mirror *mirror, frame_t frame);

/* --- the side that reads ---------------------------------------------------------------------- */

/* BYTES are now the LINES of FRAME, one behind the other. False: no room for one more page. */
bool page_mirror_apply(struct page_mirror *mirror, frame_t frame, uint64_t lines,
		       const void *bytes);

#endif
