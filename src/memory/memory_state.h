/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to memory/: what memory.c and memory_stretches.c share. Resolver's thread.
 */
#ifndef MEMORY_MEMORY_STATE_H
#define MEMORY_MEMORY_STATE_H

#include "xtop/memory/memory.h"
#include "xtop/memory/walk.h"

#define MEMORY_SLOTS (2 * MEMORY_CACHE_PAGES)
#define MEMORY_PLACES 256

/* The result of a walk for one page. */
struct memory_place {
	uint64_t changes; /* value of the memory's `changes` at the walk */
	uint64_t page;    /* number of the page in the address space of ROOT */
	struct memory_root root;
	frame_t frame;
	const char *copy; /* the page's copy; NULL: nothing was read of it since then */
};

struct memory_slot {
	uint64_t frame, generation;
	char *page; /* NULL: the frame cannot be read */
};

struct memory {
	const struct memory_ops *ops;
	void *context;
	char *pages; /* room for MEMORY_CACHE_PAGES; the first n_pages are in use */
	size_t n_pages, n_taken; /* n_taken: slots in use, also those without a page */
	size_t n_resident;       /* pages that were in use since room was given back */
	size_t n_most;           /* most pages in use at a time in these turns */
	unsigned turns;          /* memory_refresh() calls since room was given back */
	uint64_t generation; /* starts at 1, so that a slot of zeros is free */
	/* number of changes of copies; starts at 1, so that a place of zeros is free */
	uint64_t changes;
	struct memory_counts counts;
	struct work *work; /* reads fail when it is over; NULL: never */
	struct memory_watcher watcher; /* any of its functions may be NULL */
	struct memory_slot slots[MEMORY_SLOTS];
	/* results of walks by page; unused if a watcher asks which pages are used */
	struct memory_place places[MEMORY_PLACES];
	/* the current batch */
	frame_t frames[MEMORY_BATCH_PAGES];
	bool ok[MEMORY_BATCH_PAGES];
	bool fetched; /* memory_ops.read() was called. False: the work was over */
};

/* Reads N pages to TO, and sets ok[] and fetched. Returns how many could be read. */
size_t memory_fetch(struct memory *memory, const frame_t *frames, size_t n, char *to);

/* Walks the page tables at ROOT, through kept copies of them, to the span that holds ADDRESS. */
enum walk_result memory_find_span(struct memory *memory, struct memory_root root, uint64_t address,
				  struct walk_span *span);

/* SIZE_BYTES, or less if the address space ends before that. */
static inline size_t memory_clamp(uint64_t address, size_t size_bytes)
{
	uint64_t after = UINT64_MAX - address; /* bytes after the one at ADDRESS */

	return size_bytes && size_bytes - 1 > after ? after + 1 : size_bytes;
}

/* How many of SIZE_BYTES at ADDRESS are in the first page. */
static inline size_t memory_piece(uint64_t address, size_t size_bytes)
{
	size_t in_page = GUEST_PAGE_SIZE - (address & GUEST_PAGE_MASK);

	return in_page < size_bytes ? in_page : size_bytes;
}

#endif
