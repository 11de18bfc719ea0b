/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a live guest for the resolver (memory.h), by foreign mappings. A batch of
 * pages is mapped, copied and unmapped at once. Mappings of single pages are kept for a while
 * (mapped_pages.c). Resolver's thread.
 */
#include "config.h"

#include <stdlib.h>

#include "memory/mapped_pages.h"
#include "xtop/base/fault.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/memory/memory.h"
#include "xtop/xen/foreign.h"

_Static_assert(MEMORY_BATCH_PAGES <= FOREIGN_BATCH_PAGES, "a batch is one mapping");

struct live_memory {
	struct foreign *foreign;
	struct frame_cache *mapped;
};

static void live_memory_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	struct live_memory *live = context;

	if (n == 1) {
		ok[0] = mapped_pages_copy(live->mapped, frames[0], 0, pages, GUEST_PAGE_SIZE);
		return;
	}
	if (foreign_copy(live->foreign, frames, n, pages, ok))
		return;
	/*
	 * A page went away during the copy: the guest balloons. Copy page by page, so that one lost
	 * page spoils no other.
	 */
	for (size_t i = 0; i < n; i++)
		if (!foreign_copy(live->foreign, &frames[i], 1,
				  (char *)pages + i * GUEST_PAGE_SIZE, &ok[i]))
			ok[i] = false;
}

static bool live_memory_read_part(void *context, frame_t frame, size_t offset, void *bytes,
				  size_t size_bytes)
{
	struct live_memory *live = context;

	return mapped_pages_copy(live->mapped, frame, offset, bytes, size_bytes);
}

static void live_memory_update_pages(void *context, uint64_t guest_pages)
{
	struct live_memory *live = context;

	mapped_pages_update(live->mapped, guest_pages);
}

static void live_memory_close(void *context)
{
	struct live_memory *live = context;

	frame_cache_destroy(live->mapped);
	foreign_destroy(live->foreign);
	free(live);
}

static const struct memory_ops live_memory_ops = {
	.read = live_memory_read,
	.read_part = live_memory_read_part,
	.close = live_memory_close,
	.update_pages = live_memory_update_pages,
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
	error = mapped_pages_create(&mapper, &live->mapped);
	if (error) {
		live_memory_close(live);
		return error;
	}
	fault_install();
	return memory_create(&live_memory_ops, live, memoryp);
}
