/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of the guest as far as its kernel has the file in memory: the page cache, as struct bytes
 * with holes. The page cache also has what no process has mapped: symbol tables, section headers.
 * Resolver's thread.
 */
#ifndef XTOP_PROCESS_PAGE_CACHE_H
#define XTOP_PROCESS_PAGE_CACHE_H

#include "linux/kernel/linux_guest.h"
#include "xtop/base/bytes.h"

struct page_cache {
	const struct linux_guest *linux_guest;
	uint64_t mapping;    /* address of the struct address_space */
	struct memory_root root; /* what pages are read by .. */
	uint64_t base;           /* .. and the address of frame 0 there */
	uint64_t size_bytes; /* of the file */
	/* Since page_cache_init(): reads that ended at a page that is not there. */
	uint64_t n_absent;   /* never read by the guest, or dropped without a trace */
	uint64_t n_evicted;  /* was there once: a shadow entry, or swapped out */
	uint64_t n_refused;  /* the guest's structures are damaged, or memory cannot be read */
	uint64_t wasted_bytes; /* pages that were looked for or copied, and are not in any result */
};

/*
 * INODE is the address of a struct inode. False: the inode cannot be read, or BTF lacks what is
 * needed; *cache is untouched.
 */
bool page_cache_init(struct page_cache *cache, const struct linux_guest *linux_guest,
		     uint64_t inode);
/*
 * The frame that holds page INDEX of the file, counted in pages of 4 KiB. False: the page is not
 * there; nothing is counted.
 */
bool page_cache_find_frame(struct page_cache *cache, uint64_t index, frame_t *frame);
/* Valid as long as CACHE, which must not move. */
struct bytes page_cache_bytes(struct page_cache *cache);

#endif
