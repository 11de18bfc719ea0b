/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For test_frame_cache and test_frame_cache_pages: a cache of the frames of a guest in memory. */
#ifndef TESTS_FRAME_CACHE_FIXTURE_H
#define TESTS_FRAME_CACHE_FIXTURE_H

#include "tests/support/memory_guest.h"
#include "tests/support/tap.h"
#include "xtop/memory/frame_cache.h"

#define SECOND 1000000000ULL
#define ROUND  (10 * SECOND) /* the hand visits each page once in this time */

static struct memory_guest *memory;
static struct frame_cache *cache;

/* A cache of at most MAX_PAGES. Each of the guest's N_FRAMES begins with its own number. */
static inline void begin(size_t max_pages, uint64_t n_frames)
{
	memory = memory_guest_create(1);
	for (uint64_t i = 0; i < n_frames; i++)
		*(uint64_t *)memory_guest_page(memory, i) = i;
	error_destroy(frame_cache_create(&memory->guest.mapper, max_pages, ROUND, &cache));
	frame_cache_update_pages(cache, 1000);
}

/* WHAT names the test that ends. */
static inline void end(const char *what)
{
	frame_cache_destroy(cache);
	check(memory->maps == memory->unmaps, "%s: %u mapped, %u unmapped", what, memory->maps,
	      memory->unmaps);
	memory_guest_destroy(memory);
}

#endif
