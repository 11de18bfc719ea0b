/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache of mapped frames, by frame: hits, refusals, eviction, refreshing, and many random steps
 * against a model.
 */
#include "config.h"

#include <stdlib.h>

#include "frame_cache_fixture.h"
#include "xtop/base/clock.h"

/* FRAME is found, with its own content. */
static bool has(uint64_t frame)
{
	const uint64_t *page = frame_cache_find(cache, FRAME(frame));

	return page && *page == frame;
}

static bool get(uint64_t frame, uint64_t now_ns)
{
	const uint64_t *page = frame_cache_get(cache, FRAME(frame), now_ns);

	return page && *page == frame;
}

static void test_find_and_get(void)
{
	begin(16, 20);
	check(!has(3), "an empty cache finds no frame");
	check(get(3, 1), "get maps a frame");
	check(has(3) && get(3, 2), "a mapped frame is found");
	check_u64(memory->maps, 1, "times that the frame was mapped");
	check(!has(4), "another frame is not found");
	check(get(0, 3), "get maps frame 0");
	check_u64(frame_cache_pages(cache), 2, "pages of two frames");
	check_u64(frame_cache_maps(cache), 2, "maps of two frames");
	frame_cache_drop(cache);
	check(!has(3) && !has(0), "no frame is found after a drop");
	check_u64(frame_cache_pages(cache), 0, "pages after a drop");
	check(get(3, 4), "get maps a frame again after a drop");
	end("find and get");
}

static void test_refused(void)
{
	begin(16, 20);
	check(!get(99, 5 * SECOND), "Xen refuses a frame that is not there");
	check(!has(99), "a frame that Xen refused is not found");
	check(!get(99, 6 * SECOND - 1), "a frame that Xen refused is missing within a second");
	check_u64(memory->refused_maps, 1, "questions to Xen within a second");
	check(!get(99, 6 * SECOND), "a frame that Xen refuses again is missing");
	check_u64(memory->refused_maps, 2, "questions to Xen after a second");
	*(uint64_t *)memory_guest_page(memory, 99) = 99;
	check(!get(99, 7 * SECOND - 1), "the frame appears: not asked again within a second");
	check(get(99, 7 * SECOND), "a frame that appears is mapped after a second");
	check_u64(frame_cache_pages(cache), 1, "pages of a frame that appeared");
	end("refused");
}

static void test_bounded(void)
{
	begin(8, 100);
	for (uint64_t i = 0; i < 100; i++)
		if (!get(i, i) || frame_cache_pages(cache) > 8)
			check(false, "frame %" PRIu64 " of %zu pages", i, frame_cache_pages(cache));
	check_u64(frame_cache_pages(cache), 8, "never more pages than allowed");
	check(has(99), "the last page is found");
	for (uint64_t i = 1000; i < 1100; i++)
		get(i, i);
	check(frame_cache_pages(cache) == 0 && memory->refused_maps == 100,
	      "refused frames take slots too, and evict pages");
	end("bounded");
}

/* Gets so many frames, from FIRST on; returns how many of them are mapped. */
static unsigned get_some(uint64_t first, unsigned n, uint64_t now_ns)
{
	unsigned mapped = 0;

	for (unsigned i = 0; i < n; i++)
		mapped += get(first + i, now_ns);
	return mapped;
}

static void test_limit(void)
{
	begin(400, 400);
	frame_cache_set_limit(cache, 50, 5 * SECOND);
	check_u64(get_some(0, 100, 5 * SECOND), 50, "limit: a second's worth at once");
	check(has(49) && get(49, 5 * SECOND), "limit: what is mapped is found and got");
	check_u64(get_some(100, 10, 5 * SECOND), 0, "limit: frames that are mapped beyond it");
	check_u64(get_some(100, 10, 5 * SECOND + SECOND / 50 - 1), 0,
		  "limit: frames that are mapped a moment too early");
	check_u64(get_some(100, 10, 5 * SECOND + SECOND / 50), 1,
		  "limit: frames that are mapped when it is time for one");
	check_u64(get_some(200, 100, 5 * SECOND + SECOND / 2), 24, "limit: half a second later");
	check_u64(get_some(300, 100, 100 * SECOND), 50, "limit: much later, a second's worth");
	memory->refuse_map = true;
	get_some(0, 400, 200 * SECOND);
	check_u64(memory->refused_maps, 50, "limit: what Xen refuses counts, too");
	end("limit");
}

/* In a full cache, pages that are mapped are found without mapping or evicting any. */
static void test_full_and_hit(void)
{
	unsigned maps;

	begin(8, 100);
	for (uint64_t i = 0; i < 8; i++)
		get(i, 1);
	maps = memory->maps;
	for (unsigned round = 0; round < 5; round++)
		for (uint64_t i = 0; i < 8; i++)
			get(i, 2);
	check_u64(memory->maps - maps, 0, "pages mapped by hits of a full cache");
	check_u64(memory->unmaps, 0, "pages unmapped by hits of a full cache");
	end("full and hit");
}

/* The hand evicts a page that was not used since its last visit, and no other page. */
static void test_eviction_spares_used(void)
{
	unsigned kept = 0;

	begin(8, 100);
	for (uint64_t i = 0; i < 8; i++)
		get(i, 1);
	get(50, 2); /* clears all marks, and evicts one page */
	for (uint64_t i = 0; i < 8; i++)
		if (i % 2)
			has(i);
	for (uint64_t i = 60; i < 62; i++)
		get(i, 3);
	for (uint64_t i = 1; i < 8; i += 2)
		kept += has(i);
	check(kept >= 3, "%u of the four pages that were used stay", kept);
	check(has(61), "the newest page is found");
	end("eviction");
}

static void test_sweep(void)
{
	const uint64_t settled = 2 * ROUND + ROUND / 8; /* removing pages delays the hand */
	unsigned maps;

	begin(8, 20);
	for (uint64_t i = 0; i < 8; i++)
		get(i, 0);
	for (uint64_t now = 0; now <= settled; now += SECOND / 10) {
		frame_cache_sweep(cache, now);
		for (uint64_t i = 0; i < 4; i++)
			has(i);
	}
	check_u64(frame_cache_pages(cache), 4, "pages that are not used for a round are unmapped");
	check(has(0) && has(1) && has(2) && has(3), "pages that are used stay");

	memory_guest_exchange(memory, 2);
	check(*(const uint64_t *)frame_cache_find(cache, FRAME(2)) == 2,
	      "an exchanged frame still reads the old page");
	maps = memory->maps;
	for (uint64_t now = settled; now <= settled + ROUND; now += SECOND / 10) {
		frame_cache_sweep(cache, now);
		for (uint64_t i = 0; i < 4; i++)
			frame_cache_find(cache, FRAME(i));
	}
	check(memory->maps - maps >= 4 && memory->maps - maps <= 8,
	      "a round maps each page again: %u times", memory->maps - maps);
	check(*(const uint64_t *)frame_cache_find(cache, FRAME(2)) == 0,
	      "after a round an exchanged frame reads the new page");
	end("sweep");
}

/* Where pages expire, those that are used are unmapped as well, and mapped when they are needed. */
static void test_expire(void)
{
	unsigned maps;

	begin(8, 20);
	for (uint64_t i = 0; i < 8; i++)
		get(i, 0);
	maps = memory->maps;
	for (uint64_t now = 0; now <= ROUND + ROUND / 8; now += SECOND / 10) {
		frame_cache_expire(cache, now);
		for (uint64_t i = 0; i < 4; i++)
			has(i);
	}
	check_u64(frame_cache_pages(cache), 0, "pages that expire are unmapped");
	check_u64(memory->maps - maps, 0, "pages that expire and are mapped again");
	check(get(2, 2 * ROUND), "a page that expired is mapped when it is needed");
	end("expire");
}

static void test_sweep_meets_refusal(void)
{
	begin(8, 20);
	get(1, 0);
	memory->refuse_map = true;
	for (uint64_t now = 0; now <= ROUND; now += SECOND / 10) {
		frame_cache_sweep(cache, now);
		frame_cache_find(cache, FRAME(1));
	}
	check(!has(1), "a page that Xen does not map again is not found any more");
	check_u64(frame_cache_pages(cache), 0, "pages after Xen refused the only one");
	memory->refuse_map = false;
	check(get(1, 2 * ROUND), "a page that Xen refused is mapped again later");
	end("sweep meets refusal");
}

/* One call visits a limited number of pages, even if it comes very late. */
static void test_sweep_is_bounded(void)
{
	unsigned before;

	begin(256, 256);
	for (uint64_t i = 0; i < 256; i++)
		get(i, 0);
	before = memory->maps + memory->unmaps;
	frame_cache_sweep(cache, 1000000 * SECOND);
	check(memory->maps + memory->unmaps - before <= 32, "one call made %u calls of Xen",
	      memory->maps + memory->unmaps - before);
	end("sweep is bounded");
}

static void test_page_count(void)
{
	begin(8, 20);
	get(1, 0);
	memory_guest_exchange(memory, 1);
	frame_cache_update_pages(cache, 1000);
	check(has(1), "the same count of the guest's pages drops nothing");
	frame_cache_update_pages(cache, 999);
	check_u64(frame_cache_pages(cache), 0, "pages after another count of the guest's pages");
	check(*(const uint64_t *)frame_cache_get(cache, FRAME(1), 1) == 0,
	      "a page that was dropped is mapped anew");
	end("page count");
}

/*
 * Random operations against the simplest model: for each frame, may it be in the cache? A page that
 * is found must be the page of its frame. A page that was dropped must not be found. get() must
 * give every page that exists. Probing must not lose pages: as many are found as are counted.
 */
#define FUZZ_FRAMES   300
#define FUZZ_EXISTING 250
#define FUZZ_STEPS    20000

static uint64_t fuzz_state = 42;

static uint64_t fuzz_random(uint64_t below)
{
	fuzz_state = fuzz_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (fuzz_state >> 33) % below;
}

/* Numbers with gaps and clusters. */
static uint64_t fuzz_frame(uint64_t i)
{
	return i % 3 ? i : i << 20;
}

static bool fuzz_check_found(const bool *possible)
{
	size_t found = 0;

	for (uint64_t i = 0; i < FUZZ_FRAMES; i++) {
		bool there = has(fuzz_frame(i));

		if (there && !possible[i])
			return check(false, "frame %" PRIu64 " should be gone", i);
		found += there;
	}
	return found == frame_cache_pages(cache) ||
	       check(false, "%zu found, %zu counted", found, frame_cache_pages(cache));
}

static bool fuzz_step(bool *possible, uint64_t *now_ns)
{
	uint64_t i = fuzz_random(FUZZ_FRAMES), what = fuzz_random(1000);

	*now_ns += fuzz_random(SECOND / 20);
	if (what < 2) {
		frame_cache_drop(cache);
		memset(possible, 0, FUZZ_FRAMES * sizeof(*possible));
		return true;
	}
	if (what < 150) {
		frame_cache_sweep(cache, *now_ns);
		return frame_cache_pages(cache) <= 64;
	}
	if (what < 500) {
		bool there = has(fuzz_frame(i));

		return !there || possible[i] ||
		       check(false, "found frame %" PRIu64 ", which was never mapped", i);
	}
	possible[i] = i < FUZZ_EXISTING;
	return get(fuzz_frame(i), *now_ns) == possible[i] ||
	       check(false, "get of frame %" PRIu64, i);
}

static void test_random(void)
{
	static bool possible[FUZZ_FRAMES];
	uint64_t now_ns = 0;
	unsigned steps;

	begin(64, 0);
	for (uint64_t i = 0; i < FUZZ_EXISTING; i++)
		*(uint64_t *)memory_guest_page(memory, fuzz_frame(i)) = fuzz_frame(i);
	for (steps = 0; steps < FUZZ_STEPS; steps++) {
		if (!fuzz_step(possible, &now_ns))
			break;
		if (steps % 50 == 0 && !fuzz_check_found(possible))
			break;
	}
	check_u64(steps, FUZZ_STEPS, "random steps without a wrong frame");
	check(memory->maps - memory->unmaps == frame_cache_pages(cache),
	      "as many pages are mapped as are counted");
	end("random");
}

/* The shortest of 20 runs: in this one no other process had the CPU. */
static uint64_t find_ns(uint64_t frame)
{
	uint64_t least_ns = UINT64_MAX;

	for (unsigned i = 0; i < 20; i++) {
		uint64_t begin_ns = clock_now_ns(), ns;

		for (unsigned j = 0; j < 50; j++)
			frame_cache_find(cache, FRAME(frame));
		ns = clock_now_ns() - begin_ns;
		if (ns < least_ns)
			least_ns = ns;
	}
	return least_ns;
}

/*
 * A hostile guest chooses in its page tables which frames are looked up while it is stopped, and
 * knows xtop's source. With plain Fibonacci hashing all these frames would have the same slot.
 */
static void test_chosen_frames(void)
{
	const uint64_t mask = 32768 - 1, golden = 0x9e3779b97f4a7c15ULL;
	uint64_t frame = 1000, apart_ns, chosen_ns;
	unsigned n = 0;

	begin(16384, 20);
	get(3, 1);
	apart_ns = find_ns(3);
	while (n < 4000)
		if ((++frame * golden >> 32 & mask) == 7) {
			get(frame, 1); /* Xen refuses it, and the cache remembers that */
			n++;
		}
	chosen_ns = find_ns(frame);
	check(chosen_ns < 50 * apart_ns + 50000,
	      "4,000 frames chosen for a hash: %llu ns a look-up, %llu before",
	      (unsigned long long)chosen_ns / 50, (unsigned long long)apart_ns / 50);
	end("chosen frames");
}

int main(void)
{
	test_find_and_get();
	test_refused();
	test_bounded();
	test_limit();
	test_full_and_hit();
	test_eviction_spares_used();
	test_sweep();
	test_expire();
	test_sweep_meets_refusal();
	test_sweep_is_bounded();
	test_page_count();
	test_random();
	test_chosen_frames();
	return tap_done();
}
