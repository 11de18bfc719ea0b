/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a guest's file that are in its kernel's memory: the page cache, as struct bytes with
 * holes. The page cache also has parts that no process has mapped: symbol tables, section headers.
 * Resolver's thread.
 */
#ifndef XTOP_PROCESS_PAGE_CACHE_H
#define XTOP_PROCESS_PAGE_CACHE_H

#include "linux/kernel/linux_guest.h"
#include "xtop/base/bytes.h"

struct page_cache {
	const struct linux_guest *guest;
	uint64_t mapping;    /* address of the struct address_space */
	struct memory_root root; /* root under which pages are read */
	uint64_t base;           /* address of frame 0 under ROOT */
	uint64_t size_bytes;     /* size of the file */
	/* Counters since page_cache_init(): reads that ended at a missing page. */
	uint64_t n_absent;   /* never read by the guest, or dropped without a trace */
	uint64_t n_evicted;  /* was there once: a shadow entry, or swapped out */
	uint64_t n_refused;  /* the guest's structures are damaged, or memory cannot be read */
	uint64_t wasted_bytes; /* pages that were searched or copied, and are in no result */
};

/*
 * INODE is the address of a struct inode. Returns false and leaves *cache untouched if the inode
 * cannot be read, or if BTF lacks a member that is needed.
 */
bool page_cache_init(struct page_cache *cache, const struct linux_guest *guest, uint64_t inode);
/*
 * The frame that holds page INDEX of the file, counted in pages of 4 KiB. Returns false if the page
 * is not there; nothing is counted then.
 */
bool page_cache_find_frame(struct page_cache *cache, uint64_t index, frame_t *frame);
/*
 * The FRAMES of N pages from INDEX on, 0 for pages that are not there. A page that stands alone in
 * its leaf is believed without its struct page, which is many reads less: check what counts by
 * page_cache_find_frame().
 */
void page_cache_find_frames(struct page_cache *cache, uint64_t index, frame_t *frames, size_t n);
/* The bytes of the file. Valid as long as CACHE, which must not move. */
struct bytes page_cache_bytes(struct page_cache *cache);

#endif
