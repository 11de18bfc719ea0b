/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of a guest's memory by frame, as they were last seen. A recording is written from one of
 * these and read back into another: both sides do the same steps, so that a change can be told by
 * the lines that differ.
 *
 *   a page is 64 lines of 64 bytes; bit i of a set of lines stands for line i
 *   a page that is not there counts as zeros when it comes; it never comes with no line at all
 *
 * Resolver's thread. Memory grows with the pages, up to the limit given.
 */
#ifndef XTOP_PAGES_H
#define XTOP_PAGES_H

#include "xtop/error.h"
#include "xtop/types.h"

#define PAGES_LINE_BYTES 64
#define PAGES_LINES      64

_Static_assert(PAGES_LINE_BYTES * PAGES_LINES == GUEST_PAGE_SIZE, "a bit of uint64_t each");

struct pages;

struct xtop_error *pages_create(size_t max_pages, struct pages **pagesp);
void pages_destroy(struct pages *pages); /* NULL allowed */
size_t pages_count(const struct pages *pages);
/* GUEST_PAGE_SIZE bytes, until FRAME's next change; NULL: not there. */
const char *pages_find(const struct pages *pages, frame_t frame);

/* --- the side that writes --------------------------------------------------------------------- */

/*
 * FRAME was seen to hold PAGE: *LINESP says what is new, 0 when it was known. When there is no room
 * for it, one that was not seen for long is to go first: false, and *DROPP is which. Then *LINESP is
 * untouched; drop it and come again. Out of memory is no room, too; with nothing to drop: FRAME itself.
 */
bool pages_see(struct pages *pages, frame_t frame, const void *page, uint64_t *linesp,
	       frame_t *dropp);
/* False: it was not there. */
bool pages_drop(struct pages *pages, frame_t frame);
/* From here on none has been seen, as pages_is_seen() has it. */
void pages_begin_turn(struct pages *pages);
/* FRAME is there, and was seen since pages_begin_turn(). */
bool pages_is_seen(const struct pages *pages, frame_t frame);

/* --- the side that reads ---------------------------------------------------------------------- */

/* LINES of FRAME are now what lies at BYTES, one behind the other. False: no room for one more page. */
bool pages_change(struct pages *pages, frame_t frame, uint64_t lines, const void *bytes);

static inline size_t pages_lines_bytes(uint64_t lines)
{
	return (size_t)__builtin_popcountll(lines) * PAGES_LINE_BYTES;
}

#endif
