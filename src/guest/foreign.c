/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a live guest for the resolver (memory.h): a handle of /dev/xen/privcmd that may map
 * this guest's pages and do nothing else, neither hypercalls nor other domains' pages
 * (IOCTL_PRIVCMD_RESTRICT, in Linux v4.14). Opened by the broker, handed to main, used by the
 * resolver's thread.
 *
 * A batch of pages is mapped, copied and unmapped at once; mappings of single ones are kept for a while
 * (kept_pages.c). Bare ioctls instead of libxenforeignmemory, whose map function asks again and
 * again, sleeping, for as long as a frame is paged out; here that frame is refused.
 */
#include "config.h"

#include <xenctrl.h> /* first: it has the types of privcmd.h */
#include <xen/sys/privcmd.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/kept_pages.h"
#include "guest/xen.h"
#include "xtop/cleanup.h"
#include "xtop/guest.h"
#include "xtop/memory.h"

struct foreign {
	int fd;
	domid_t domid;
	struct frame_cache *kept;
	int errors[MEMORY_BATCH_PAGES];
};

_Static_assert(IOCTL_PRIVCMD_MMAPBATCH_V2 == 0x205004, "as src/sandbox.c allows it");
_Static_assert(sizeof(frame_t) == sizeof(xen_pfn_t), "frames are handed to Xen as they are");

/* The N FRAMES one behind the other; foreign->errors says which are not there. NULL: none is. */
static char *foreign_map(struct foreign *foreign, const frame_t *frames, size_t n)
{
	char *map = mmap(NULL, n * GUEST_PAGE_SIZE, PROT_READ, MAP_SHARED, foreign->fd, 0);
	privcmd_mmapbatch_v2_t batch = {
		.num = (unsigned)n,
		.dom = foreign->domid,
		.addr = (uintptr_t)map,
		.arr = (const xen_pfn_t *)frames,
		.err = foreign->errors,
	};

	if (map == MAP_FAILED)
		return NULL;
	/* ENOENT: all was tried, and some are paged out. */
	if (ioctl(foreign->fd, IOCTL_PRIVCMD_MMAPBATCH_V2, &batch) < 0 && errno != ENOENT) {
		munmap(map, n * GUEST_PAGE_SIZE);
		return NULL;
	}
	return map;
}

/* False: some page went away meanwhile, and nothing in PAGES is sure. */
static bool foreign_copy(struct foreign *foreign, const frame_t *frames, size_t n, char *pages,
			 bool *ok)
{
	char *map = foreign_map(foreign, frames, n);
	unsigned faults;

	memset(ok, 0, n * sizeof(ok[0]));
	if (!map)
		return true;
	fault_arm_range(map, n * GUEST_PAGE_SIZE);
	for (size_t i = 0; i < n; i++) {
		ok[i] = foreign->errors[i] == 0;
		if (ok[i])
			memcpy(pages + i * GUEST_PAGE_SIZE, map + i * GUEST_PAGE_SIZE,
			       GUEST_PAGE_SIZE);
	}
	faults = fault_disarm();
	munmap(map, n * GUEST_PAGE_SIZE);
	return faults == 0;
}

static void *foreign_map_one(void *context, frame_t frame)
{
	struct foreign *foreign = context;
	char *map = foreign_map(foreign, &frame, 1);

	if (map && foreign->errors[0]) {
		munmap(map, GUEST_PAGE_SIZE);
		return NULL;
	}
	return map;
}

static void foreign_unmap_one(void *context, void *page)
{
	(void)context;
	munmap(page, GUEST_PAGE_SIZE);
}

static void foreign_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	struct foreign *foreign = context;

	assert(n <= MEMORY_BATCH_PAGES);
	if (n == 1) {
		ok[0] = kept_pages_copy(foreign->kept, frames[0], pages);
		return;
	}
	if (foreign_copy(foreign, frames, n, pages, ok))
		return;
	/* It balloons just now: one by one, so that one page costs no other. */
	for (size_t i = 0; i < n; i++)
		if (!foreign_copy(foreign, &frames[i], 1, (char *)pages + i * GUEST_PAGE_SIZE,
				  &ok[i]))
			ok[i] = false;
}

static void foreign_follow(void *context, uint64_t guest_pages)
{
	struct foreign *foreign = context;

	kept_pages_follow(foreign->kept, guest_pages);
}

static void foreign_close(void *context)
{
	struct foreign *foreign = context;

	frame_cache_destroy(foreign->kept);
	if (foreign->fd >= 0)
		close(foreign->fd);
	free(foreign);
}

static const struct memory_ops foreign_ops = {
	.read = foreign_read,
	.close = foreign_close,
	.follow = foreign_follow,
};

/*
 * Read-only, so that nothing can be mapped for writing through it. The restriction is the open
 * file's: whoever gets the descriptor cannot lift it.
 */
struct xtop_error *foreign_open_fd(uint32_t domid, int *fdp)
{
	_cleanup_close_ int fd = open("/dev/xen/privcmd", O_RDONLY | O_CLOEXEC);
	domid_t restricted = (domid_t)domid;

	if (fd < 0 || ioctl(fd, IOCTL_PRIVCMD_RESTRICT, &restricted) < 0)
		return error_create_errno(errno, "cannot open the guest's memory");
	*fdp = fd;
	fd = -1;
	return NULL;
}

struct xtop_error *foreign_adopt(uint32_t domid, int fd, struct memory **memoryp)
{
	struct foreign *foreign = calloc(1, sizeof(*foreign));
	struct xtop_error *error;

	if (!foreign) {
		close(fd);
		return error_create("out of memory");
	}
	foreign->domid = (domid_t)domid;
	foreign->fd = fd;
	error = kept_pages_create(&(struct mapper){ foreign_map_one, foreign_unmap_one, foreign },
				  &foreign->kept);
	if (error) {
		foreign_close(foreign);
		return error;
	}
	fault_install();
	return memory_create(&foreign_ops, foreign, memoryp);
}
