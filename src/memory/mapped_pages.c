/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of single pages; see mapped_pages.h. The mapping of a page is kept, but never its content:
 * each copy has the bytes of its own moment. When the guest balloons, a frame may become another
 * page, while the mapping stays on the old one. So mapped_pages_update() drops all mappings when
 * the guest's page count has changed.
 */
#include "config.h"

#include "memory/mapped_pages.h"

#include <string.h>

#include "xtop/base/clock.h"
#include "xtop/base/fault.h"
#include "xtop/memory/frame_cache.h"

/*
 * After this time at most a page is unmapped: its frame may have become another page without any
 * sign. With the sampler's 10 s, most mappings were made for this reason: 190 a second for a guest
 * that starts 30 processes a second. Pages that were used once are not mapped again: a search for a
 * system uses some 200, and to map these anew took half of the CPU time of a unikernel's resolver.
 */
#define MAPPED_ROUND_NS (10 * FRAME_CACHE_ROUND_NS)

struct xtop_error *mapped_pages_create(const struct mapper *mapper, struct frame_cache **mappedp)
{
	return frame_cache_create(mapper, MAPPED_PAGES_MAX, MAPPED_ROUND_NS, mappedp);
}

/*
 * Tries to copy bytes of FRAME once. False: the page went away during the copy, and BYTES may be
 * wrong. *THERE becomes false if the frame cannot be mapped; then BYTES are untouched.
 */
static bool mapped_pages_try(struct frame_cache *pages, frame_t frame, size_t offset, void *bytes,
			     size_t size_bytes, bool *there)
{
	const char *mapped = frame_cache_get(pages, frame, clock_now_ns());

	*there = mapped;
	if (!mapped)
		return true;
	fault_arm();
	memcpy(bytes, mapped + offset, size_bytes);
	return fault_disarm() == 0;
}

bool mapped_pages_copy(struct frame_cache *pages, frame_t frame, size_t offset, void *bytes,
		       size_t size_bytes)
{
	bool there;

	/*
	 * If the page goes away, the guest balloons, and other mappings may be wrong, too. Drop
	 * them all, and try once more with a new mapping.
	 */
	for (int tries = 0; tries < 2; tries++) {
		if (mapped_pages_try(pages, frame, offset, bytes, size_bytes, &there))
			return there;
		frame_cache_drop(pages);
	}
	return false;
}

void mapped_pages_update(struct frame_cache *pages, uint64_t guest_pages)
{
	frame_cache_update_pages(pages, guest_pages);
	if (guest_pages)
		frame_cache_expire(pages, clock_now_ns());
	else if (frame_cache_pages(pages))
		frame_cache_drop(pages);
}
