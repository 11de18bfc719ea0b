/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single pages out of mappings that stay; see kept_pages.h. What is kept is the mapping, never the
 * content: each copy is of the page as it is then. A frame may become another page behind its mapping,
 * when the guest balloons; frame_cache.c knows how that is noticed, here as in the sampler.
 */
#include "config.h"

#include "memory/kept_pages.h"

#include <string.h>

#include "xtop/clock.h"
#include "xtop/fault.h"
#include "xtop/frame_cache.h"

/*
 * After which a mapping still used is made anew, should the frame have become another page with nothing
 * to tell of it. With the sampler's 10 s that was most of what there was to map: 190 pages a second of a
 * guest that starts 30 processes in it.
 */
#define KEPT_ROUND_NS (10 * FRAME_CACHE_ROUND_NS)

struct xtop_error *kept_pages_create(const struct mapper *mapper, struct frame_cache **keptp)
{
	return frame_cache_create(mapper, KEPT_PAGES_MAX, KEPT_ROUND_NS, keptp);
}

/* False: what was there has gone, and of what was copied nothing is sure. */
static bool kept_pages_try(struct frame_cache *kept, frame_t frame, void *page, bool *there)
{
	const void *mapped = frame_cache_get(kept, frame, clock_now_ns());

	*there = mapped;
	if (!mapped)
		return true;
	fault_arm();
	memcpy(page, mapped, GUEST_PAGE_SIZE);
	return fault_disarm() == 0;
}

bool kept_pages_copy(struct frame_cache *kept, frame_t frame, void *page)
{
	bool there;

	/* A mapping that went bad is not the only one: it balloons. The frame may be back by now. */
	for (int tries = 0; tries < 2; tries++) {
		if (kept_pages_try(kept, frame, page, &there))
			return there;
		frame_cache_drop(kept);
	}
	return false;
}

void kept_pages_follow(struct frame_cache *kept, uint64_t guest_pages)
{
	frame_cache_follow(kept, guest_pages);
	if (guest_pages)
		frame_cache_tend(kept, clock_now_ns());
	else if (frame_cache_pages(kept))
		frame_cache_drop(kept);
}
