/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to recording/: pages of a guest's memory, by frame, as they were last seen. The writer of
 * a recording has one mirror, the reader of the recording another. Both make equal steps, so it is
 * enough to record the lines of a page that differ from the mirror and are read.
 *
 *   a page is 64 lines of 64 bytes; bit i of a set of lines stands for line i
 *   a page that is new in the mirror was zeros before, and always comes with at least one line
 *
 * Resolver's thread. Memory grows with the pages, up to the given limit. A turn is the work for one
 * sample, poll or pass over tasks.
 */
#ifndef RECORDING_PAGE_MIRROR_H
#define RECORDING_PAGE_MIRROR_H

#include "xtop/base/error.h"
#include "xtop/base/types.h"

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
/* Returns GUEST_PAGE_SIZE bytes, valid until FRAME changes; NULL if the page is not there. */
const char *page_mirror_find(const struct page_mirror *mirror, frame_t frame);
/* Removes the page. Returns false if it was not there. */
bool page_mirror_remove(struct page_mirror *mirror, frame_t frame);

/* --- the side that writes --------------------------------------------------------------------- */

/*
 * FRAME was seen to hold PAGE. *LINESP: the lines that are new. Returns false if there is no room
 * or no memory for one more page. Then *LINESP is untouched, and *FULLP is a page that was not seen
 * for long: remove that page and call again. *FULLP is FRAME itself if there is no page to remove.
 */
bool page_mirror_update(struct page_mirror *mirror, frame_t frame, const void *page,
			uint64_t *linesp, frame_t *fullp);
/* The lines that have [OFFSET, OFFSET + SIZE_BYTES) of a page; SIZE_BYTES is not 0. */
static inline uint64_t page_lines_of(size_t offset, size_t size_bytes)
{
	unsigned first = offset / PAGE_LINE_BYTES;
	unsigned n = (offset + size_bytes - 1) / PAGE_LINE_BYTES - first + 1;

	return (n == PAGE_LINES ? ~0ULL : (1ULL << n) - 1) << first;
}
/*
 * The read number READ of this turn has copied FRAME. If FRAME is not in the mirror yet, does what
 * page_mirror_update() does. Otherwise does not look at the copy, and *LINESP is 0.
 */
bool page_mirror_copy(struct page_mirror *mirror, frame_t frame, const void *page, uint64_t read,
		      uint64_t *linesp, frame_t *fullp);
/*
 * LINES of PAGE, the last copy of FRAME, were used. FRAME must be in the mirror. *LINESP: which of
 * LINES are new. *WAS_USEDP: the old bytes of a new line were used in this turn. Returns the number
 * of the read that made the copy; 0 if the copy was made in an earlier turn.
 */
uint64_t page_mirror_use(struct page_mirror *mirror, frame_t frame, const void *page,
			 uint64_t lines, uint64_t *linesp, bool *was_usedp);
/* Begins a turn, in which no page was seen or used yet. */
void page_mirror_begin_turn(struct page_mirror *mirror);
/* Whether FRAME is in the mirror and was seen in this turn. */
bool page_mirror_is_seen(const struct page_mirror *mirror, frame_t frame);

/* --- the side that reads ---------------------------------------------------------------------- */

/* Writes BYTES to LINES of FRAME, line by line. Returns false if there is no room for the page. */
bool page_mirror_apply(struct page_mirror *mirror, frame_t frame, uint64_t lines,
		       const void *bytes);

#endif
