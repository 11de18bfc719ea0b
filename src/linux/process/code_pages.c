/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table of pages by frame number; see code_pages.h. Each set has CODE_PAGES_WAYS places; the
 * page that was seen first is replaced first. The size is fixed: if a guest has more code than
 * places, some code of processes that have ended gets no names. hash.h is not used, because its
 * tables would grow with the guest's code. Resolver's thread.
 */
#include "config.h"

#include "linux/process/code_pages.h"

#include <stdlib.h>

#include "xtop/base/hash.h"

#define CODE_PAGES_WAYS 4
#define CODE_PAGES_SETS (CODE_PAGES_MAX / CODE_PAGES_WAYS)

struct code_pages {
	struct code_page sets[CODE_PAGES_SETS][CODE_PAGES_WAYS];
	frame_t frames[CODE_PAGES_MAX_SCAN]; /* frames of the segment that is scanned */
};

struct xtop_error *code_pages_create(struct code_pages **pagesp)
{
	struct code_pages *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return error_create("out of memory for the guest's files");
	*pagesp = pages;
	return NULL;
}

void code_pages_destroy(struct code_pages *pages)
{
	free(pages);
}

const struct code_page *code_pages_find(const struct code_pages *pages, frame_t frame)
{
	const struct code_page *set = pages->sets[hash_slot(frame.value, CODE_PAGES_SETS)];

	for (unsigned i = 0; frame.value && i < CODE_PAGES_WAYS; i++)
		if (set[i].frame == frame.value)
			return &set[i];
	return NULL;
}

/* The place of FRAME, or else the place that FRAME can take. A free place has since_ns 0. */
static struct code_page *code_pages_find_place(struct code_pages *pages, uint64_t frame)
{
	struct code_page *set = pages->sets[hash_slot(frame, CODE_PAGES_SETS)], *oldest = set;

	for (unsigned i = 0; i < CODE_PAGES_WAYS; i++) {
		if (set[i].frame == frame)
			return &set[i];
		if (set[i].since_ns < oldest->since_ns)
			oldest = &set[i];
	}
	return oldest;
}

void code_pages_add(struct code_pages *pages, const struct code_page *seen)
{
	struct code_page *place = code_pages_find_place(pages, seen->frame);

	/* A page that is seen again keeps the time when it was first seen. */
	if (place->frame != seen->frame || place->file != seen->file || place->page != seen->page)
		*place = *seen;
}

/* --- scanning the page cache ------------------------------------------------------------------ */

/*
 * Searches for at most MAX pages of the segment. Returns the number of pages searched. The time is
 * taken after the last page was read, so that these pages name no sample from before that time.
 */
static uint64_t code_pages_scan_segment(struct code_pages *pages, uint64_t file,
					const struct load *load, struct page_cache *cache,
					uint64_t max)
{
	uint64_t first = load->offset >> GUEST_PAGE_SHIFT, in_page = load->offset & GUEST_PAGE_MASK;
	uint64_t n = (in_page + load->file_bytes + GUEST_PAGE_MASK) >> GUEST_PAGE_SHIFT;
	struct code_page seen = { .file = file };

	if (n > max)
		n = max;
	page_cache_find_frames(cache, first, pages->frames, n);
	seen.since_ns = memory_now_ns(cache->guest->memory);
	for (uint64_t i = 0; i < n; i++) {
		seen.frame = pages->frames[i].value;
		seen.page = first + i;
		if (seen.frame)
			code_pages_add(pages, &seen);
	}
	return n;
}

uint64_t code_pages_scan(struct code_pages *pages, uint64_t file, const struct loads *loads,
			 struct page_cache *cache)
{
	uint64_t left = CODE_PAGES_MAX_SCAN;

	for (unsigned i = 0; i < loads->n; i++)
		if (loads->loads[i].executable)
			left -= code_pages_scan_segment(pages, file, &loads->loads[i], cache, left);
	return CODE_PAGES_MAX_SCAN - left;
}
