/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page mirrors of both sides of a recording: the writer's says which lines are new; after every
 * step the reader's has the same pages, however full it is; which page goes when there is no room.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "recording/page_mirror.h"
#include "tests/support/tap.h"

#define MODEL_FRAMES 64
#define MODEL_PAGES  40
#define MODEL_STEPS  200000

static struct page_mirror *create(size_t max_pages)
{
	struct page_mirror *mirror;

	if (page_mirror_create(max_pages, &mirror))
		abort();
	return mirror;
}

/* Pages of the frames below MODEL_FRAMES, which is all that the tests use. */
static size_t count(const struct page_mirror *mirror)
{
	size_t n = 0;

	for (uint64_t i = 0; i < MODEL_FRAMES; i++)
		n += page_mirror_find(mirror, FRAME(i)) != NULL;
	return n;
}

/* What page_mirror_update() says is new; all ones when there is no room. */
static uint64_t see(struct page_mirror *mirror, uint64_t frame, const char *page)
{
	uint64_t lines = 12345;
	frame_t full;

	if (!page_mirror_update(mirror, FRAME(frame), page, &lines, &full))
		return lines == 12345 ? UINT64_MAX : 12345;
	return lines;
}

static void test_lines(void)
{
	struct page_mirror *mirror = create(4);
	char page[GUEST_PAGE_SIZE] = { 0 };

	check(!page_mirror_find(mirror, FRAME(7)), "a page that was never seen is not there");
	check_u64(see(mirror, 7, page), 1, "a new page of zeros has one line: it is there");
	check_u64(see(mirror, 7, page), 0, "a page that was seen before has no new lines");
	page[0] = page[63] = page[64] = page[4095] = 1;
	check_u64(see(mirror, 7, page), 1ULL << 63 | 3, "bytes 0, 63, 64 and 4095");
	page[64] = 0;
	check_u64(see(mirror, 7, page), 2, "byte 64 is zero again");
	check(memcmp(page_mirror_find(mirror, FRAME(7)), page, sizeof(page)) == 0,
	      "a page keeps the lines that were applied");
	check_u64(see(mirror, 8, page), 1ULL << 63 | 1, "a new page: all lines but zeros");
	check_u64(count(mirror), 2, "pages of the mirror");
	check(page_mirror_remove(mirror, FRAME(7)) && !page_mirror_remove(mirror, FRAME(7)),
	      "a page can be removed once");
	check(!page_mirror_find(mirror, FRAME(7)) && page_mirror_find(mirror, FRAME(8)),
	      "removing a page leaves the others");
	check_u64(see(mirror, 7, page), 1ULL << 63 | 1, "a removed page is new again");
	page_mirror_destroy(mirror);
	page_mirror_destroy(NULL);
}

static void test_change(void)
{
	struct page_mirror *mirror = create(2);
	char lines[2 * PAGE_LINE_BYTES];
	const char *page;

	memset(lines, 'a', PAGE_LINE_BYTES);
	memset(lines + PAGE_LINE_BYTES, 'b', PAGE_LINE_BYTES);
	check(page_mirror_apply(mirror, FRAME(1), 1ULL << 63 | 2, lines),
	      "the reader takes two lines of a new page");
	page = page_mirror_find(mirror, FRAME(1));
	check(page[63] == 0 && page[64] == 'a' && page[127] == 'a' && page[128] == 0 &&
		      page[4031] == 0 && page[4032] == 'b' && page[4095] == 'b',
	      "the reader has the lines in their places, zeros around");
	check(page_mirror_apply(mirror, FRAME(1), 1, lines) && page[0] == 'a' && page[64] == 'a',
	      "the reader adds another line");
	check(page_mirror_apply(mirror, FRAME(2), 1, lines),
	      "the reader has room for a second page");
	check(!page_mirror_apply(mirror, FRAME(3), 1, lines) && count(mirror) == 2,
	      "the reader has no room for a third page");
	check(page_mirror_apply(mirror, FRAME(2), 4, lines),
	      "a full reader still changes its pages");
	check_u64(page_lines_bytes(0x8001), 128, "bytes of two lines");
	page_mirror_destroy(mirror);
}

/* Full with 1, 2, 3: the hand takes the marks off, then a page goes that was not seen since. */
static void test_who_goes(void)
{
	struct page_mirror *mirror = create(3);
	char page[GUEST_PAGE_SIZE] = { 1 };
	frame_t first = FRAME(0), next = FRAME(0);
	uint64_t lines = 0;
	bool seen;

	for (uint64_t frame = 1; frame <= 3; frame++)
		see(mirror, frame, page);
	seen = page_mirror_update(mirror, FRAME(4), page, &lines, &first);
	check(!seen && first.value >= 1 && first.value <= 3,
	      "one of three pages makes room for a fourth: %d", (int)first.value);
	check_u64(count(mirror), 3, "no page has gone by itself");
	page_mirror_remove(mirror, first);
	check(page_mirror_update(mirror, FRAME(4), page, &lines, &next) && lines == 1,
	      "a removed page leaves room for another");
	for (uint64_t frame = 1; frame <= 3; frame++)
		if (frame != first.value && !next.value)
			next = FRAME(frame); /* the lower of the two that are left */
	see(mirror, next.value, page);
	seen = page_mirror_update(mirror, FRAME(5), page, &lines, &first);
	check(!seen && first.value != next.value && first.value != 4 &&
		      page_mirror_find(mirror, first),
	      "neither the page seen again nor the new page makes room: %d", (int)first.value);
	page_mirror_destroy(mirror);

	mirror = create(0);
	check(!page_mirror_update(mirror, FRAME(9), page, &lines, &first) && first.value == 9,
	      "no room at all, no page to remove");
	page_mirror_destroy(mirror);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223; /* Numerical Recipes' */
	return *state >> 8;
}

/* What the two sides of a recording do with a page. */
static void pass_on(struct page_mirror *writer, struct page_mirror *reader, uint64_t frame,
		    const char *page)
{
	char lines[GUEST_PAGE_SIZE];
	uint64_t set;
	size_t n = 0;
	frame_t full;

	while (!page_mirror_update(writer, FRAME(frame), page, &set, &full)) {
		page_mirror_remove(writer, full);
		if (!page_mirror_remove(reader, full))
			check(false, "the reader had no frame %d", (int)full.value);
	}
	for (unsigned i = 0; i < PAGE_LINES; i++)
		if (set >> i & 1)
			memcpy(lines + PAGE_LINE_BYTES * n++, page + PAGE_LINE_BYTES * i,
			       PAGE_LINE_BYTES);
	if (set && !page_mirror_apply(reader, FRAME(frame), set, lines))
		check(false, "the reader has no room where the writer had room");
}

static unsigned count_differences(const struct page_mirror *writer,
				  const struct page_mirror *reader, char model[][GUEST_PAGE_SIZE])
{
	unsigned n = 0;

	for (uint64_t i = 0; i < MODEL_FRAMES; i++) {
		const char *a = page_mirror_find(writer, FRAME(i)),
			   *b = page_mirror_find(reader, FRAME(i));

		n += !a != !b;
		n += a && memcmp(a, model[i], GUEST_PAGE_SIZE) != 0;
		n += b && memcmp(b, model[i], GUEST_PAGE_SIZE) != 0;
	}
	return n;
}

/* More frames than there is room for: some are seen again, some change, some go away. */
static void test_two_sides(void)
{
	static char model[MODEL_FRAMES][GUEST_PAGE_SIZE];
	struct page_mirror *writer = create(MODEL_PAGES), *reader = create(MODEL_PAGES);
	unsigned differences = 0;
	uint32_t state = 1;

	for (unsigned step = 0; step < MODEL_STEPS; step++) {
		uint64_t frame = next_random(&state) % MODEL_FRAMES;
		uint32_t what = next_random(&state) % 8;

		if (what == 0) {
			page_mirror_remove(writer, FRAME(frame));
			page_mirror_remove(reader, FRAME(frame));
			continue;
		}
		if (what < 4 && page_mirror_find(writer, FRAME(frame)))
			model[frame][next_random(&state) % GUEST_PAGE_SIZE] ^= 1;
		pass_on(writer, reader, frame, model[frame]);
		if (step % 64 == 0)
			differences += count_differences(writer, reader, model);
	}
	check_u64(differences, 0, "differences between both sides and what was seen");
	check_u64(count(writer), count(reader), "writer and reader have as many pages");
	check(count(writer) <= MODEL_PAGES && count(writer) > MODEL_PAGES / 2, "%zu of %d pages",
	      count(writer), MODEL_PAGES);
	page_mirror_destroy(writer);
	page_mirror_destroy(reader);
}

int main(void)
{
	test_lines();
	test_change();
	test_who_goes();
	test_two_sides();
	return tap_done();
}
