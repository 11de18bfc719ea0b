/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies single guest pages, and keeps their mappings, because mapping and unmapping a page costs
 * several times as much as copying it (doc/MEASUREMENTS). Resolver's thread.
 */
#ifndef MEMORY_MAPPED_PAGES_H
#define MEMORY_MAPPED_PAGES_H

#include "xtop/base/limit.h"
#include "xtop/memory/frame_cache.h"

#define MAPPED_PAGES_MAX LIMIT(2048, 64) /* mapped at a time: 8 MiB of the guest */

/*
 * Creates a cache for the functions below. MAPPER's context outlives it. frame_cache_destroy()
 * unmaps all pages and frees the cache.
 */
struct xtop_error *mapped_pages_create(const struct mapper *mapper, struct frame_cache **mappedp);

/*
 * Copies SIZE_BYTES of FRAME, from OFFSET on, as they are now. False: the frame cannot be read. A
 * frame that Xen has refused is tried again after a second.
 */
bool mapped_pages_copy(struct frame_cache *pages, frame_t frame, size_t offset, void *bytes,
		       size_t size_bytes);
/*
 * GUEST_PAGES is the guest's page count now; 0: the guest is gone. Then all pages are unmapped,
 * because a mapping would keep the domain as a zombie. Call this every few milliseconds: it also
 * sweeps the cache.
 */
void mapped_pages_update(struct frame_cache *pages, uint64_t guest_pages);

#endif
