/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages by frame; see page_mirror.h. Resolver's thread.
 *
 * The table has open addressing and linear probing and is less than half full. Removing an entry
 * leaves no gap: entries after the removed one that belong further up move up. The table is not
 * one of hash.h, because pages are removed in the order of its slots when there is no room, and a
 * replay must not depend on how a general table grows.
 *
 * A clock hand makes room. The hand goes round, clears the mark of pages that were seen since it
 * last came by, and stops at the first page without a mark.
 */
#include "config.h"

#include "recording/page_mirror.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"

struct page_mirror_slot {
	uint64_t frame;
	char *page;               /* NULL if the slot is free */
	bool seen;                /* the page was seen since the hand was here */
	uint64_t turn;            /* the turn in which the page was last seen */
	uint64_t used_turn, used; /* the last turn with used lines, and these lines */
	uint64_t read_turn, read; /* turn and number of the read that made the last copy */
};

struct page_mirror {
	struct page_mirror_slot *slots;
	size_t n_slots, max_pages, n_pages;
	size_t hand;
	uint64_t turn;
};

struct xtop_error *page_mirror_create(size_t max_pages, struct page_mirror **mirrorp)
{
	struct page_mirror *mirror = calloc(1, sizeof(*mirror));

	if (mirror) {
		mirror->max_pages = max_pages;
		mirror->n_slots = 2 * max_pages + 1;
		mirror->slots = calloc(mirror->n_slots, sizeof(*mirror->slots));
	}
	if (!mirror || !mirror->slots) {
		free(mirror);
		return error_create("out of memory");
	}
	*mirrorp = mirror;
	return NULL;
}

void page_mirror_destroy(struct page_mirror *mirror)
{
	if (!mirror)
		return;
	for (size_t i = 0; i < mirror->n_slots; i++)
		free(mirror->slots[i].page);
	free(mirror->slots);
	free(mirror);
}

/* --- the table -------------------------------------------------------------------------------- */

/* Returns the slot of FRAME, or a free slot for FRAME, which always exists. */
static size_t page_mirror_probe(const struct page_mirror *mirror, uint64_t frame)
{
	size_t i = hash_slot(frame, mirror->n_slots);

	while (mirror->slots[i].page && mirror->slots[i].frame != frame)
		i = (i + 1) % mirror->n_slots;
	return i;
}

const char *page_mirror_find(const struct page_mirror *mirror, frame_t frame)
{
	return mirror->slots[page_mirror_probe(mirror, frame.value)].page;
}

/* Puts a page of zeros into the free slot I. Returns false if there is no room. */
static bool page_mirror_add(struct page_mirror *mirror, size_t i, uint64_t frame)
{
	char *page;

	if (mirror->n_pages == mirror->max_pages)
		return false;
	page = calloc(1, GUEST_PAGE_SIZE);
	if (!page)
		return false;
	mirror->slots[i] = (struct page_mirror_slot){ .frame = frame, .page = page, .seen = true };
	mirror->n_pages++;
	return true;
}

/* Whether the entry at AT, whose probing begins at HOME, may move up to the free slot GAP. */
static bool page_mirror_may_move(size_t home, size_t gap, size_t at)
{
	return gap <= at ? home <= gap || home > at : home <= gap && home > at;
}

bool page_mirror_remove(struct page_mirror *mirror, frame_t frame)
{
	size_t gap = page_mirror_probe(mirror, frame.value), at = gap;

	if (!mirror->slots[gap].page)
		return false;
	free(mirror->slots[gap].page);
	mirror->n_pages--;
	while (mirror->slots[at = (at + 1) % mirror->n_slots].page) {
		size_t home = hash_slot(mirror->slots[at].frame, mirror->n_slots);

		if (!page_mirror_may_move(home, gap, at))
			continue;
		mirror->slots[gap] = mirror->slots[at];
		gap = at;
	}
	mirror->slots[gap] = (struct page_mirror_slot){ 0 };
	return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

void page_mirror_begin_turn(struct page_mirror *mirror)
{
	mirror->turn++;
}

bool page_mirror_is_seen(const struct page_mirror *mirror, frame_t frame)
{
	const struct page_mirror_slot *slot =
		&mirror->slots[page_mirror_probe(mirror, frame.value)];

	return slot->page && slot->turn == mirror->turn;
}

/*
 * Returns the page to remove; OTHERWISE if there is none. The first of two rounds clears all marks.
 */
static frame_t page_mirror_choose(struct page_mirror *mirror, frame_t otherwise)
{
	for (size_t i = 0; i < 2 * mirror->n_slots; i++) {
		struct page_mirror_slot *slot = &mirror->slots[mirror->hand];

		mirror->hand = (mirror->hand + 1) % mirror->n_slots;
		if (slot->page && !slot->seen)
			return FRAME(slot->frame);
		slot->seen = false;
	}
	return otherwise;
}

/* Copies LOOK_AT, a set of lines, from FROM to TO. Returns the lines that were different. */
static uint64_t page_mirror_copy_lines(char *to, const char *from, uint64_t look_at)
{
	uint64_t lines = 0;

	for (; look_at; look_at &= look_at - 1) {
		unsigned i = __builtin_ctzll(look_at);
		size_t at = (size_t)i * PAGE_LINE_BYTES;

		if (memcmp(to + at, from + at, PAGE_LINE_BYTES) == 0)
			continue;
		memcpy(to + at, from + at, PAGE_LINE_BYTES);
		lines |= 1ULL << i;
	}
	return lines;
}

static void page_mirror_mark_used(const struct page_mirror *mirror, struct page_mirror_slot *slot,
				  uint64_t lines)
{
	slot->used = (slot->used_turn == mirror->turn ? slot->used : 0) | lines;
	slot->used_turn = mirror->turn;
}

bool page_mirror_update(struct page_mirror *mirror, frame_t frame, const void *page,
			uint64_t *linesp, frame_t *fullp)
{
	size_t i = page_mirror_probe(mirror, frame.value);
	struct page_mirror_slot *slot = &mirror->slots[i];
	bool is_new = !slot->page;

	if (is_new && !page_mirror_add(mirror, i, frame.value)) {
		*fullp = page_mirror_choose(mirror, frame);
		return false;
	}
	slot->seen = true;
	slot->turn = mirror->turn;
	*linesp = page_mirror_copy_lines(slot->page, page, ~0ULL);
	if (is_new && !*linesp)
		*linesp = 1;
	page_mirror_mark_used(mirror, slot, ~0ULL);
	return true;
}

bool page_mirror_copy(struct page_mirror *mirror, frame_t frame, const void *page, uint64_t read,
		      uint64_t *linesp, frame_t *fullp)
{
	struct page_mirror_slot *slot = &mirror->slots[page_mirror_probe(mirror, frame.value)];

	if (slot->page) {
		slot->seen = true;
		*linesp = 0;
	} else {
		if (!page_mirror_update(mirror, frame, page, linesp, fullp))
			return false;
		slot->used = 0; /* no line was used yet */
	}
	slot->read_turn = mirror->turn;
	slot->read = read;
	return true;
}

uint64_t page_mirror_use(struct page_mirror *mirror, frame_t frame, const void *page,
			 uint64_t lines, uint64_t *linesp, bool *was_usedp)
{
	struct page_mirror_slot *slot = &mirror->slots[page_mirror_probe(mirror, frame.value)];

	slot->seen = true;
	slot->turn = mirror->turn;
	*linesp = page_mirror_copy_lines(slot->page, page, lines);
	*was_usedp = slot->used_turn == mirror->turn && (slot->used & *linesp);
	page_mirror_mark_used(mirror, slot, lines);
	return slot->read_turn == mirror->turn ? slot->read : 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

bool page_mirror_apply(struct page_mirror *mirror, frame_t frame, uint64_t lines, const void *bytes)
{
	size_t slot = page_mirror_probe(mirror, frame.value);
	const char *from = bytes;

	if (!mirror->slots[slot].page && !page_mirror_add(mirror, slot, frame.value))
		return false;
	for (; lines; lines &= lines - 1, from += PAGE_LINE_BYTES)
		memcpy(mirror->slots[slot].page + __builtin_ctzll(lines) * PAGE_LINE_BYTES, from,
		       PAGE_LINE_BYTES);
	return true;
}
