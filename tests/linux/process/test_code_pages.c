/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of pages by frame: seen once, seen again, replaced, and more than there are places. */
#include "config.h"

#include "linux/process/code_pages.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

static struct code_pages *pages;

static void begin(void)
{
	must(code_pages_create(&pages));
}

static void see(uint64_t frame, uint64_t file, uint64_t page, uint64_t since_ns)
{
	code_pages_add(pages,
		       &(struct code_page){
			       .frame = frame, .file = file, .page = page, .since_ns = since_ns });
}

static bool has(uint64_t frame, uint64_t file, uint64_t page, uint64_t since_ns)
{
	const struct code_page *found = code_pages_find(pages, FRAME(frame));

	return found && found->frame == frame && found->file == file && found->page == page &&
	       found->since_ns == since_ns;
}

static void test_seen(void)
{
	begin();
	check(!code_pages_find(pages, FRAME(7)), "an empty table has no page");
	check(!code_pages_find(pages, FRAME(0)), "frame 0 has no page");
	see(7, 1, 2, 100);
	see(8, 1, 3, 100);
	check(has(7, 1, 2, 100) && has(8, 1, 3, 100), "two pages of a file are found");
	check(!code_pages_find(pages, FRAME(9)), "a frame in which nothing was seen has no page");
	see(7, 1, 2, 200);
	check(has(7, 1, 2, 100), "a page that is seen again keeps its first time");
	see(7, 1, 4, 300);
	check(has(7, 1, 4, 300), "another page in the frame has its own time");
	see(7, 2, 4, 400);
	check(has(7, 2, 4, 400), "a page of another file in the frame has its own time");
	see(7, 1, 4, 500);
	check(has(7, 1, 4, 500), "the first file's page, seen again, has a new time");
	code_pages_destroy(pages);
}

/* A guest's frames come in runs. */
static void test_places(void)
{
	unsigned kept = 0, wrong = 0;

	begin();
	for (uint64_t i = 0; i < CODE_PAGES_MAX / 2; i++)
		see(0x10000 + i, 1, i, 1);
	for (uint64_t i = 0; i < CODE_PAGES_MAX / 2; i++)
		kept += has(0x10000 + i, 1, i, 1);
	check(kept > CODE_PAGES_MAX / 2 * 95 / 100, "half as many pages as places: %u are kept",
	      kept);
	for (uint64_t i = 0; i < 4ULL * CODE_PAGES_MAX; i++)
		see(0x4000000 + i, 2, i, 2 + i);
	for (uint64_t i = 0; i < 4ULL * CODE_PAGES_MAX; i++) {
		const struct code_page *found = code_pages_find(pages, FRAME(0x4000000 + i));

		wrong += found && (found->file != 2 || found->page != i);
	}
	check_u64(wrong, 0, "number of wrong answers with four times as many pages as places");
	check(has(0x4000000 + 4ULL * CODE_PAGES_MAX - 1, 2, 4ULL * CODE_PAGES_MAX - 1,
		  4ULL * CODE_PAGES_MAX + 1),
	      "the newest page is kept");
	code_pages_destroy(pages);
}

int main(void)
{
	test_seen();
	test_places();
	return tap_done();
}
