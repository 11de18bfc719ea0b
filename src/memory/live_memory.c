/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a live guest for the resolver (memory.h), by foreign mappings. A batch of pages is
 * mapped, copied and unmapped at once; mappings of single pages are kept for a while (kept_pages.c).
 * Resolver's thread.
 */
#include "config.h"

#include <stdlib.h>

#include "memory/kept_pages.h"
#include "xtop/fault.h"
#include "xtop/foreign.h"
#include "xtop/frame_cache.h"
#include "xtop/memory.h"

_Static_assert(MEMORY_BATCH_PAGES <= FOREIGN_BATCH_PAGES, "a batch is one mapping");

struct live_memory {
	struct foreign *foreign;
	struct frame_cache *kept;
};

static void live_memory_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	struct live_memory *live = context;

	if (n == 1) {
		ok[0] = kept_pages_copy(live->kept, frames[0], pages);
		return;
	}
	if (foreign_copy(live->foreign, frames, n, pages, ok))
		return;
	/* The guest balloons just now. Copy page by page, so that one lost page costs no other. */
	for (size_t i = 0; i < n; i++)
		if (!foreign_copy(live->foreign, &frames[i], 1,
				  (char *)pages + i * GUEST_PAGE_SIZE, &ok[i]))
			ok[i] = false;
}

static void live_memory_follow(void *context, uint64_t guest_pages)
{
	struct live_memory *live = context;

	kept_pages_follow(live->kept, guest_pages);
}

static void live_memory_close(void *context)
{
	struct live_memory *live = context;

	frame_cache_destroy(live->kept);
	foreign_destroy(live->foreign);
	free(live);
}

static const struct memory_ops live_memory_ops = {
	.read = live_memory_read,
	.close = live_memory_close,
	.follow = live_memory_follow,
};

struct xtop_error *memory_create_live(uint32_t domid, int fd, struct memory **memoryp)
{
	struct live_memory *live = calloc(1, sizeof(*live));
	struct foreign *foreign = NULL;
	struct xtop_error *error = foreign_create(domid, fd, &foreign);
	struct mapper mapper;

	if (error || !live) {
		if (foreign)
			foreign_destroy(foreign);
		free(live);
		return error ? error : error_create("out of memory");
	}
	live->foreign = foreign;
	mapper = foreign_mapper(foreign);
	error = kept_pages_create(&mapper, &live->kept);
	if (error) {
		live_memory_close(live);
		return error;
	}
	fault_install();
	return memory_create(&live_memory_ops, live, memoryp);
}
