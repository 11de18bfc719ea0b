/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of single guest pages, whose mappings are kept: to map one and to unmap it again costs several
 * times what a copy does (doc/DESIGN 6). Resolver's thread.
 */
#ifndef GUEST_KEPT_PAGES_H
#define GUEST_KEPT_PAGES_H

#include "xtop/frame_cache.h"
#include "xtop/limit.h"

#define KEPT_PAGES_MAX LIMIT(2048, 64) /* mapped at a time: 8 MiB of the guest */

/* What the mapper works with outlives it. To be given to frame_cache_destroy(), which unmaps all. */
struct xtop_error *kept_pages_create(const struct mapper *mapper, struct frame_cache **keptp);

/* FRAME as it is now, to PAGE; false: it cannot be had. A frame Xen refused is asked for again after a second. */
bool kept_pages_copy(struct frame_cache *kept, frame_t frame, void *page);
/*
 * The guest has GUEST_PAGES now, which is 0 once it is gone: then no mapping is left, as it would keep
 * the domain as a zombie. To be called every few milliseconds.
 */
void kept_pages_follow(struct frame_cache *kept, uint64_t guest_pages);

#endif
