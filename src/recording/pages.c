/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages by frame; see xtop/pages.h. Resolver's thread.
 *
 * A table with open addressing and linear probing, less than half full. What is taken out leaves no
 * gap: entries behind it that were pushed there move up. Room is made as a clock does it: a hand goes
 * round, takes the mark off pages that were seen since it came by last, and stops at the first
 * without.
 */
#include "config.h"

#include "xtop/pages.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/hash.h"

struct pages_slot {
	uint64_t frame;
	char *page;    /* NULL: a free slot */
	bool seen;     /* since the hand was here */
	uint64_t turn; /* when it was seen last */
};

struct pages {
	struct pages_slot *slots;
	size_t n_slots, max_pages, n_pages;
	size_t hand;
	uint64_t turn;
};

struct xtop_error *pages_create(size_t max_pages, struct pages **pagesp)
{
	struct pages *pages = calloc(1, sizeof(*pages));

	if (pages) {
		pages->max_pages = max_pages;
		pages->n_slots = 2 * max_pages + 1;
		pages->slots = calloc(pages->n_slots, sizeof(*pages->slots));
	}
	if (!pages || !pages->slots) {
		free(pages);
		return error_create("out of memory");
	}
	*pagesp = pages;
	return NULL;
}

void pages_destroy(struct pages *pages)
{
	if (!pages)
		return;
	for (size_t i = 0; i < pages->n_slots; i++)
		free(pages->slots[i].page);
	free(pages->slots);
	free(pages);
}

size_t pages_count(const struct pages *pages)
{
	return pages->n_pages;
}

/* --- the table -------------------------------------------------------------------------------- */

static size_t pages_home(const struct pages *pages, uint64_t frame)
{
	return hash_slot(frame, pages->n_slots);
}

/* The slot of FRAME, or the free one where it goes. There is always one. */
static size_t pages_probe(const struct pages *pages, uint64_t frame)
{
	size_t i = pages_home(pages, frame);

	while (pages->slots[i].page && pages->slots[i].frame != frame)
		i = (i + 1) % pages->n_slots;
	return i;
}

const char *pages_find(const struct pages *pages, frame_t frame)
{
	return pages->slots[pages_probe(pages, frame.value)].page;
}

/* A page of zeros in the free slot I. False: no room. */
static bool pages_add(struct pages *pages, size_t i, uint64_t frame)
{
	char *page;

	if (pages->n_pages == pages->max_pages)
		return false;
	page = calloc(1, GUEST_PAGE_SIZE);
	if (!page)
		return false;
	pages->slots[i] = (struct pages_slot){ .frame = frame, .page = page, .seen = true };
	pages->n_pages++;
	return true;
}

/* Whether an entry at AT whose probing began at HOME may be moved up to the free slot GAP. */
static bool pages_may_move(size_t home, size_t gap, size_t at)
{
	return gap <= at ? home <= gap || home > at : home <= gap && home > at;
}

bool pages_drop(struct pages *pages, frame_t frame)
{
	size_t gap = pages_probe(pages, frame.value), at = gap;

	if (!pages->slots[gap].page)
		return false;
	free(pages->slots[gap].page);
	pages->n_pages--;
	while (pages->slots[at = (at + 1) % pages->n_slots].page) {
		if (!pages_may_move(pages_home(pages, pages->slots[at].frame), gap, at))
			continue;
		pages->slots[gap] = pages->slots[at];
		gap = at;
	}
	pages->slots[gap] = (struct pages_slot){ 0 };
	return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

void pages_begin_turn(struct pages *pages)
{
	pages->turn++;
}

bool pages_is_seen(const struct pages *pages, frame_t frame)
{
	const struct pages_slot *slot = &pages->slots[pages_probe(pages, frame.value)];

	return slot->page && slot->turn == pages->turn;
}

/* Two rounds at most: the first takes all marks off. */
static frame_t pages_choose(struct pages *pages, frame_t otherwise)
{
	for (size_t i = 0; i < 2 * pages->n_slots; i++) {
		struct pages_slot *slot = &pages->slots[pages->hand];

		pages->hand = (pages->hand + 1) % pages->n_slots;
		if (slot->page && !slot->seen)
			return FRAME(slot->frame);
		slot->seen = false;
	}
	return otherwise;
}

/* The lines of TO that FROM has otherwise, made equal. */
static uint64_t pages_copy_lines(char *to, const char *from)
{
	uint64_t lines = 0;

	for (unsigned i = 0; i < PAGES_LINES; i++) {
		size_t at = (size_t)i * PAGES_LINE_BYTES;

		if (memcmp(to + at, from + at, PAGES_LINE_BYTES) == 0)
			continue;
		memcpy(to + at, from + at, PAGES_LINE_BYTES);
		lines |= 1ULL << i;
	}
	return lines;
}

bool pages_see(struct pages *pages, frame_t frame, const void *page, uint64_t *linesp,
	       frame_t *dropp)
{
	struct pages_slot *slot = &pages->slots[pages_probe(pages, frame.value)];
	bool is_new = !slot->page;

	if (is_new && !pages_add(pages, (size_t)(slot - pages->slots), frame.value)) {
		*dropp = pages_choose(pages, frame);
		return false;
	}
	slot->seen = true;
	slot->turn = pages->turn;
	*linesp = pages_copy_lines(slot->page, page);
	if (is_new && !*linesp)
		*linesp = 1;
	return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

bool pages_change(struct pages *pages, frame_t frame, uint64_t lines, const void *bytes)
{
	size_t slot = pages_probe(pages, frame.value);
	const char *from = bytes;

	if (!pages->slots[slot].page && !pages_add(pages, slot, frame.value))
		return false;
	for (; lines; lines &= lines - 1, from += PAGES_LINE_BYTES)
		memcpy(pages->slots[slot].page + __builtin_ctzll(lines) * PAGES_LINE_BYTES, from,
		       PAGES_LINE_BYTES);
	return true;
}
