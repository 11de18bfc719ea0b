/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's memory as the resolver reads it while the guest runs: many pages at start, later a
 * few now and then. Whole pages are copied, and only the copy is parsed, so the guest cannot change
 * bytes that were checked. The handle behind it maps this one guest's memory and can do nothing
 * else.
 *
 *   memory_read() ─► walk under a root (memory/walk_x86.c) ─► page copies ─► memory_ops.read()
 *                                                             kept until memory_refresh()
 *
 * Resolver's thread only. A page that cannot be read is not an error: the read ends before it. No
 * page can be read any more when the thread's work is over (xtop/work.h).
 */
#ifndef XTOP_MEMORY_H
#define XTOP_MEMORY_H

#include <stdbool.h>

#include "xtop/error.h"
#include "xtop/limit.h"
#include "xtop/types.h"

#define MEMORY_CACHE_PAGES LIMIT(1024, 64) /* copies kept at most: 4 MiB */
#define MEMORY_BATCH_PAGES 512             /* in one call of memory_ops.read() at most */

struct memory_ops {
	/*
	 * Copies the N pages FRAMES to PAGES, GUEST_PAGE_SIZE each. ok[i] false: page i cannot be
	 * read.
	 */
	void (*read)(void *context, const frame_t *frames, size_t n, void *pages, bool *ok);
	/*
	 * Copies SIZE_BYTES of FRAME from OFFSET on; they end in the page. False: it cannot be
	 * read. NULL: only whole pages can be read.
	 */
	bool (*read_part)(void *context, frame_t frame, size_t offset, void *bytes,
			  size_t size_bytes);
	void (*close)(void *context);
	/* For memory_now_ns(). NULL: the memory is of now, so clock_now_ns() is the time. */
	uint64_t (*now_ns)(void *context);
	/* For memory_update_pages(). NULL: this is not the memory of a live guest. */
	void (*update_pages)(void *context, uint64_t guest_pages);
};

struct memory;

/* Owns CONTEXT from now on, also after a failure. */
struct xtop_error *memory_create(const struct memory_ops *ops, void *context,
				 struct memory **memoryp);
void memory_destroy(struct memory *memory); /* NULL allowed */

/*
 * Reads [address, address + size_bytes). Returns how many bytes: all, or those before the first
 * missing page.
 */
size_t memory_read(struct memory *memory, struct memory_root root, uint64_t address, void *buffer,
		   size_t size_bytes);
/*
 * Reads the bytes as they are now. Earlier copies of them are not used; page tables may be copies.
 * For a few bytes of many pages: only these bytes of a live guest are read, and nothing is kept.
 */
size_t memory_read_again(struct memory *memory, struct memory_root root, uint64_t address,
			 void *buffer, size_t size_bytes);
/*
 * For tables of megabytes: reads pages in batches and keeps no copies. Missing pages are zeros in
 * BUFFER. Returns how many bytes were there.
 */
size_t memory_read_bulk(struct memory *memory, struct memory_root root, uint64_t address,
			void *buffer, size_t size_bytes);
/*
 * Reads N whole pages at ADDRESS, at most MEMORY_BATCH_PAGES, in one batch, and keeps no copies.
 * Returns how many pages were there before the first missing one. What PAGES has behind them is
 * undefined.
 */
size_t memory_read_pages(struct memory *memory, struct memory_root root, uint64_t address,
			 void *pages, size_t n);
/* False: not all bytes can be read; *VALUE is untouched. */
bool memory_read_u64(struct memory *memory, struct memory_root root, uint64_t address,
		     uint64_t *value);
bool memory_read_u32(struct memory *memory, struct memory_root root, uint64_t address,
		     uint32_t *value);
/*
 * Reads up to the NUL, at most CAPACITY - 1 bytes; BUFFER always ends in a NUL. False: a page
 * before the end cannot be read.
 */
bool memory_read_string(struct memory *memory, struct memory_root root, uint64_t address,
			char *buffer, size_t capacity);
/* *FRAME becomes the frame that holds ADDRESS. False: no page there, or no page tables. */
bool memory_translate(struct memory *memory, struct memory_root root, uint64_t address,
		      frame_t *frame);

/* The pages that are present in [from, to). Neighbours with the same flags are one range. */
struct memory_range {
	uint64_t start, end;
	bool writable, executable;
};
/* Ascending, at most MAX; returns how many. Stops after MEMORY_MAX_LEAVES. */
#define MEMORY_MAX_LEAVES LIMIT(262144, 768) /* 1 GiB in 4 KiB pages */
size_t memory_ranges(struct memory *memory, struct memory_root root, uint64_t from, uint64_t to,
		     struct memory_range *ranges, size_t max);

/*
 * Forgets all copies, so that the next read is new. The resolver calls it before each batch of
 * samples.
 */
void memory_refresh(struct memory *memory);

/*
 * The guest has GUEST_PAGES pages now; 0: the guest is gone. If the number has changed, mappings of
 * pages are dropped that may be other pages now. The resolver calls this in each of its turns.
 */
void memory_update_pages(struct memory *memory, uint64_t guest_pages);

/*
 * The time of the memory that is read, on the clock of the samples: now, or, for a recording, the
 * time at which the recorded memory was read. Decisions that depend on the present, and not on the
 * time of a sample, use this function.
 */
uint64_t memory_now_ns(struct memory *memory);

/* Sees everything that is read. A recording keeps it. */
struct memory_watcher {
	/* After memory_ops.read(), when the caller gets all of these pages, or none is kept. */
	void (*read)(void *context, const frame_t *frames, size_t n, const void *pages,
		     const bool *ok);
	/* The same of one page, of which a copy is kept, and which nobody has read so far. */
	void (*copy)(void *context, frame_t frame, const void *page, bool ok);
	/* [OFFSET, OFFSET + SIZE_BYTES) of such a copy was read: now, or long after it was made. */
	void (*use)(void *context, frame_t frame, const void *page, size_t offset,
		    size_t size_bytes);
	void (*time)(void *context, uint64_t now_ns); /* memory_now_ns() has returned it */
	void *context;
};
/* The copy of FRAME, if there is one, gets the bytes [OFFSET, OFFSET + SIZE_BYTES) of PAGE. */
void memory_correct_copy(struct memory *memory, frame_t frame, const char *page, size_t offset,
			 size_t size_bytes);
/* Replaces the watcher, and forgets all copies. The watcher's context outlives MEMORY. */
void memory_set_watcher(struct memory *memory, const struct memory_watcher *watcher);

struct memory_counts {
	uint64_t pages;   /* read */
	uint64_t batches; /* calls of memory_ops.read() */
	uint64_t refused; /* pages that could not be read */
};
struct memory_counts memory_counts(const struct memory *memory);

/*
 * live_memory.c: the memory of the live guest DOMID, by FD, which comes from foreign_open_fd().
 * This function owns FD, also when it fails.
 */
struct xtop_error *memory_create_live(uint32_t domid, int fd, struct memory **memoryp);

#endif
