/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest pages mapped here, by frame. One thread for each cache. */
#ifndef XTOP_FRAME_CACHE_H
#define XTOP_FRAME_CACHE_H

#include "xtop/guest.h"
#include "xtop/walk.h"

struct frame_cache;

/* For stacks: so long one is read at most that has been exchanged unnoticed. */
#define FRAME_CACHE_ROUND_NS (10 * 1000000000ULL)

/*
 * At most MAX_PAGES at a time; each is looked at once in ROUND_NS by frame_cache_tend(). What the
 * mapper works with outlives it.
 */
struct xtop_error *frame_cache_create(const struct mapper *mapper, size_t max_pages,
				      uint64_t round_ns, struct frame_cache **cachep);
void frame_cache_destroy(struct frame_cache *cache); /* unmaps all */

/* The page if it is mapped already; fit for the stop. */
const void *frame_cache_find(struct frame_cache *cache, frame_t frame);
/*
 * The page, mapped now if need be; NULL: Xen would not, now or less than a second ago. Not in the
 * stop.
 */
const void *frame_cache_get(struct frame_cache *cache, frame_t frame, uint64_t now_ns);
/* The guest has been stopped: until the next call its page tables do not change. */
void frame_cache_stop(struct frame_cache *cache);
/*
 * The page that ADDRESS is in, under ROOT, by page tables and a page that are mapped already: fit
 * for the stop. WALK_NOT_MAPPED: one of them is not.
 */
enum walk_result frame_cache_find_page(struct frame_cache *cache, struct memory_root root,
				       gva_t address, const void **page);
/* The same, mapped now if need be. Not in the stop. */
enum walk_result frame_cache_get_page(struct frame_cache *cache, struct memory_root root,
				      gva_t address, uint64_t now_ns, const void **page);
/* The frame alone that ADDRESS lies in, which need not be mapped: as find, and as get. */
enum walk_result frame_cache_find_frame(struct frame_cache *cache, struct memory_root root,
					gva_t address, frame_t *frame);
enum walk_result frame_cache_get_frame(struct frame_cache *cache, struct memory_root root,
				       gva_t address, uint64_t now_ns, frame_t *frame);
/*
 * Before a tick reads any: PAGES is the guest's page count, as just looked at. When it has changed
 * all are dropped: it balloons, and a guest frame may be another machine page now.
 */
void frame_cache_follow(struct frame_cache *cache, uint64_t pages);
/*
 * Housekeeping, once a tick, outside the stop: looks at a few pages; one that was used since the
 * last look is mapped anew, so that a frame the guest has meanwhile exchanged is never read for
 * long; one that was not is let go.
 */
void frame_cache_tend(struct frame_cache *cache, uint64_t now_ns);
void frame_cache_drop(struct frame_cache *cache); /* all of them: the guest is gone */
size_t frame_cache_pages(const struct frame_cache *cache);
uint64_t frame_cache_maps(const struct frame_cache *cache);

#endif
