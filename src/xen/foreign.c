/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Foreign mappings of one guest's pages, by a handle of /dev/xen/privcmd that can map this guest's
 * pages and do nothing else: no hypercalls, no pages of other domains (IOCTL_PRIVCMD_RESTRICT, in
 * Linux v4.14). The broker opens the handle and sends it to main. The resolver's thread uses it.
 *
 * The calls are plain ioctls, without libxenforeignmemory. While a frame is paged out, the map
 * function of that library sleeps and tries again, without end. Here such a frame counts as
 * missing.
 */
#include "config.h"

#include "xen/public.h" /* first: it has the types of privcmd.h */

#include <xen/sys/privcmd.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/fault.h"
#include "xtop/xen/foreign.h"

struct foreign {
	int fd;
	domid_t domid;
	int errors[FOREIGN_BATCH_PAGES];
};

_Static_assert(IOCTL_PRIVCMD_MMAPBATCH_V2 == 0x205004, "as src/supervise/sandbox.c allows it");
_Static_assert(sizeof(frame_t) == sizeof(xen_pfn_t), "frames are handed to Xen as they are");

/* Maps the N FRAMES in one range; foreign->errors says which are missing. NULL: all are missing. */
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
	/* ENOENT: all frames were tried, and some are paged out. */
	if (ioctl(foreign->fd, IOCTL_PRIVCMD_MMAPBATCH_V2, &batch) < 0 && errno != ENOENT) {
		munmap(map, n * GUEST_PAGE_SIZE);
		return NULL;
	}
	return map;
}

bool foreign_copy(struct foreign *foreign, const frame_t *frames, size_t n, char *pages, bool *ok)
{
	unsigned faults;
	char *map;

	assert(n <= FOREIGN_BATCH_PAGES);
	map = foreign_map(foreign, frames, n);
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

/*
 * The device is opened for reading only, so no page can be mapped for writing. The restriction
 * belongs to the open file: a process that gets the descriptor cannot remove it.
 */
struct xtop_error *foreign_open_fd(uint32_t domid, int *fdp)
{
	_cleanup_close_ int fd = open("/dev/xen/privcmd", O_RDONLY | O_CLOEXEC);
	domid_t restricted = (domid_t)domid;
	long page_bytes = sysconf(_SC_PAGESIZE);

	/*
	 * With larger pages in dom0, each of Xen's frames would take a page of the mapping, but the
	 * functions above expect 4 KiB.
	 */
	if (page_bytes != GUEST_PAGE_SIZE)
		return error_create("this kernel has pages of %ld bytes: to sample guests, boot "
				    "one with pages of 4096 bytes",
				    page_bytes);
	if (fd < 0 || ioctl(fd, IOCTL_PRIVCMD_RESTRICT, &restricted) < 0)
		return error_create_errno(errno, "cannot open the guest's memory");
	*fdp = fd;
	fd = -1;
	return NULL;
}

/* Maps one page. NULL: Xen refuses. */
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

struct xtop_error *foreign_create(uint32_t domid, int fd, struct foreign **foreignp)
{
	struct foreign *foreign = calloc(1, sizeof(*foreign));

	if (!foreign) {
		close(fd);
		return error_create("out of memory");
	}
	foreign->domid = (domid_t)domid;
	foreign->fd = fd;
	*foreignp = foreign;
	return NULL;
}

struct mapper foreign_mapper(struct foreign *foreign)
{
	return (struct mapper){ foreign_map_one, foreign_unmap_one, foreign };
}

void foreign_destroy(struct foreign *foreign)
{
	close(foreign->fd);
	free(foreign);
}
