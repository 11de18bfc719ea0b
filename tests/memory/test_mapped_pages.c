/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of pages whose mappings are kept. A copy must be of the page as it is now. Pages may go
 * away during the copy. When the guest is gone nothing may stay mapped.
 */
#include "config.h"

#include "memory/mapped_pages.h"
#include "tests/support/memory_guest.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/fault.h"
#include "xtop/memory/frame_cache.h"

#define PAGES 1000 /* the guest's pages */

static struct memory_guest *memory;
static struct frame_cache *kept;
static uint64_t copy[GUEST_PAGE_SIZE / sizeof(uint64_t)];

static void begin(uint64_t n_frames)
{
	memory = memory_guest_create(1);
	for (uint64_t i = 0; i < n_frames; i++)
		*(uint64_t *)memory_guest_page(memory, i) = 100 + i;
	fault_install();
	must(mapped_pages_create(&memory->guest.mapper, &kept));
	mapped_pages_update(kept, PAGES);
}

static void end(void)
{
	frame_cache_destroy(kept);
	check(memory->maps == memory->unmaps, "%u mapped, %u unmapped", memory->maps,
	      memory->unmaps);
	memory_guest_destroy(memory);
}

/* The first word of the copy of FRAME. 0: FRAME cannot be read. */
static uint64_t word(uint64_t frame)
{
	copy[0] = 0;
	return mapped_pages_copy(kept, FRAME(frame), 0, copy, GUEST_PAGE_SIZE) ? copy[0] : 0;
}

static void test_content(void)
{
	begin(3);
	check_u64(word(1), 101, "first word of a page");
	*(uint64_t *)memory_guest_page(memory, 1) = 7;
	check_u64(word(1), 7, "first word of a page with new content");
	check_u64(word(2), 102, "first word of another page");
	check_u64(memory->maps, 2, "pages that were mapped, each once");
	memory->refuse_map = true;
	check_u64(word(0), 0, "a page that Xen refuses");
	check_u64(word(1), 7, "a mapped page needs no call of Xen");
	end();
}

static void test_gone_page(void)
{
	begin(3);
	word(1);
	word(2);
	memory_guest_revoke(memory, 1);
	check_u64(word(1), 0, "a page that the guest has given back");
	check_u64(word(2), 102, "another page can still be read");
	*(uint64_t *)memory_guest_page(memory, 1) = 9;
	mapped_pages_update(kept, PAGES + 1);
	check_u64(word(1), 9, "the frame has come back as another page");
	end();
}

/* Old mappings stay on the old page, and do not fault. Only the page count shows the change. */
static void test_balloon(void)
{
	begin(3);
	word(1);
	memory_guest_exchange(memory, 1);
	*(uint64_t *)memory_guest_page(memory, 1) = 9;
	mapped_pages_update(kept, PAGES - 1);
	check_u64(memory->unmaps, memory->maps, "pages unmapped when their number changes");
	check_u64(word(1), 9, "first word of the new page");
	end();
}

static void test_gone_guest(void)
{
	begin(3);
	word(0);
	word(1);
	mapped_pages_update(kept, 0);
	check_u64(memory->unmaps, 2, "the guest is gone: all pages are unmapped");
	word(2);
	mapped_pages_update(kept, 0);
	check_u64(memory->unmaps, 3, "a page that was read after the end is unmapped");
	end();
}

static void test_many(void)
{
	unsigned wrong = 0;

	begin(MEMORY_GUEST_FRAMES - 8);
	for (uint64_t round = 0; round < 3; round++)
		for (uint64_t i = 0; i < MEMORY_GUEST_FRAMES - 8; i++)
			wrong += word(i) != 100 + i;
	check_u64(wrong, 0, "copies of the wrong page");
	check_u64(memory->maps, MEMORY_GUEST_FRAMES - 8, "each page is mapped once");
	end();
}

int main(void)
{
	test_content();
	test_gone_page();
	test_balloon();
	test_gone_guest();
	test_many();
	return tap_done();
}
