/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of the guest as far as its kernel has it in memory: the page cache, as struct bytes with
 * holes. It reaches what no process has mapped: symbol tables, section headers. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PAGE_CACHE_H
#define XTOP_PROCESS_PAGE_CACHE_H

#include "linux/kernel/linux.h"
#include "xtop/bytes.h"

struct page_cache {
	const struct linux_guest *linux_guest;
	uint64_t mapping; /* struct address_space */
	uint64_t size_bytes;
	/* pages asked for and not there */
	uint64_t n_absent;  /* never read, or dropped without a trace */
	uint64_t n_evicted; /* were there once: a shadow entry, or swapped out */
	uint64_t n_refused; /* what stands there cannot be */
};

/* Of an inode. False: it cannot be read, or the BTF lacks what is needed. */
bool page_cache_init(struct page_cache *cache, const struct linux_guest *linux_guest,
		     uint64_t inode);
/* The frame that page INDEX of the file lies in. False: it is not there. */
bool page_cache_frame(struct page_cache *cache, uint64_t index, frame_t *frame);
/* Lives as long as CACHE, which stays where it is. */
struct bytes page_cache_bytes(struct page_cache *cache);

#endif
