/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest pages that this process keeps mapped, found by frame. One thread uses a cache. */
#ifndef XTOP_FRAME_CACHE_H
#define XTOP_FRAME_CACHE_H

#include "xtop/memory/walk.h"
#include "xtop/xen/guest.h"

struct frame_cache;

/*
 * The sampler's value of ROUND_NS. A guest may exchange a page without notice; then the sampler
 * reads the old page for about this long at most.
 */
#define FRAME_CACHE_ROUND_NS (10 * 1000000000ULL)

/*
 * Keeps at most MAX_PAGES mapped. frame_cache_sweep() visits each page once in ROUND_NS. MAPPER's
 * context outlives the cache. Fails only without memory.
 */
struct xtop_error *frame_cache_create(const struct mapper *mapper, size_t max_pages,
				      uint64_t round_ns, struct frame_cache **cachep);
void frame_cache_destroy(struct frame_cache *cache); /* unmaps all */

/* Returns the page if it is already mapped, otherwise NULL. Allowed while the guest is stopped. */
const void *frame_cache_find(struct frame_cache *cache, frame_t frame);
/*
 * From now on the functions with "get" in their name map at most MAPS_PER_S pages a second; after a
 * second without a new mapping they may map as many at once. 0: no limit. The limit is for hostile
 * guests: a guest chooses where its page tables lead, and may change them all the time.
 * frame_cache_sweep() has a limit of its own.
 */
void frame_cache_set_limit(struct frame_cache *cache, uint64_t maps_per_s, uint64_t now_ns);
/*
 * Returns the page, and maps it if necessary. NULL: Xen refuses, or refused less than a second ago,
 * or the limit is reached. Not while the guest is stopped.
 */
const void *frame_cache_get(struct frame_cache *cache, frame_t frame, uint64_t now_ns);
/*
 * Call this just after each stop of the guest. The "find" functions then remember a page table
 * until the next call, because page tables do not change during a stop.
 */
void frame_cache_stop(struct frame_cache *cache);
/*
 * The page that holds ADDRESS under ROOT. Uses only page tables and pages that are already mapped,
 * so it is allowed while the guest is stopped. WALK_NOT_MAPPED: a page table or the page is not
 * mapped.
 */
enum walk_result frame_cache_find_page(struct frame_cache *cache, struct memory_root root,
				       gva_t address, const void **page);
/* Finds the page, and maps what is missing. Not to be called while the guest is stopped. */
enum walk_result frame_cache_get_page(struct frame_cache *cache, struct memory_root root,
				      gva_t address, uint64_t now_ns, const void **page);
/*
 * frame_cache_find_page() and frame_cache_get_page() for the frame of ADDRESS, which need not be
 * mapped.
 */
enum walk_result frame_cache_find_frame(struct frame_cache *cache, struct memory_root root,
					gva_t address, frame_t *frame);
enum walk_result frame_cache_get_frame(struct frame_cache *cache, struct memory_root root,
				       gva_t address, uint64_t now_ns, frame_t *frame);
/*
 * PAGES is the guest's page count now. If the count has changed, all pages are dropped: the guest
 * balloons, and a guest frame may be another machine page. Call this in each tick, before any page
 * is read.
 */
void frame_cache_update_pages(struct frame_cache *cache, uint64_t pages);
/*
 * Visits a few pages. A page that was used since the last visit is mapped again, so that a page
 * that the guest has exchanged is not read for long. A page that was not used is unmapped. Call
 * this once a tick, not while the guest is stopped.
 */
void frame_cache_sweep(struct frame_cache *cache, uint64_t now_ns);
/*
 * frame_cache_sweep() for a caller that needs no page while the guest is stopped: a page that was
 * used is unmapped, too, and mapped again when it is needed.
 */
void frame_cache_expire(struct frame_cache *cache, uint64_t now_ns);
void frame_cache_drop(struct frame_cache *cache); /* unmaps all pages */
size_t frame_cache_pages(const struct frame_cache *cache);  /* mapped now */
uint64_t frame_cache_maps(const struct frame_cache *cache); /* mappings made so far */

#endif
