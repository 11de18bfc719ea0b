/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's memory as the resolver reads it while the guest runs: many pages at start, later a
 * few for each sample. Whole pages are copied, and only the copy is parsed, so the guest cannot
 * change bytes that were checked. For a live guest the descriptor behind it can map this one
 * guest's memory, and nothing else.
 *
 *   memory_read() ─► walk under a root (memory/walk_x86.c) ─► page copies ─► memory_ops.read()
 *                                                             kept until memory_refresh()
 *
 * Resolver's thread only. A page that cannot be read is not an error: the read ends before it. Once
 * the thread's work is over (work.h), no page can be read any more.
 */
#ifndef XTOP_MEMORY_H
#define XTOP_MEMORY_H

#include <stdbool.h>

#include "xtop/base/error.h"
#include "xtop/base/limit.h"
#include "xtop/base/types.h"

#define MEMORY_CACHE_PAGES LIMIT(1024, 64) /* copies kept at most: 4 MiB */
#define MEMORY_BATCH_PAGES 512             /* most pages in one call of memory_ops.read() */

struct memory_ops {
	/*
	 * Copies the N pages FRAMES to PAGES, GUEST_PAGE_SIZE each. ok[i] false: page i cannot be
	 * read.
	 */
	void (*read)(void *context, const frame_t *frames, size_t n, void *pages, bool *ok);
	/*
	 * Copies SIZE_BYTES of FRAME from OFFSET on; all of them are in the page. False: the page
	 * cannot be read. NULL: only whole pages can be read.
	 */
	bool (*read_part)(void *context, frame_t frame, size_t offset, void *bytes,
			  size_t size_bytes);
	void (*close)(void *context);
	/*
	 * The time that memory_now_ns() returns. NULL: the memory is live, so its time is
	 * clock_now_ns().
	 */
	uint64_t (*now_ns)(void *context);
	/* For memory_update_pages(). NULL: the memory is not that of a live guest. */
	void (*update_pages)(void *context, uint64_t guest_pages);
};

struct memory;

/* MEMORY owns CONTEXT from now on. After a failure CONTEXT has been closed. */
struct xtop_error *memory_create(const struct memory_ops *ops, void *context,
				 struct memory **memoryp);
void memory_destroy(struct memory *memory); /* MEMORY may be NULL */

/*
 * Sets the work for which MEMORY is read: when WORK is over, every read fails. WORK outlives
 * MEMORY. WORK may be NULL, the initial state: then reading never ends. In both functions MEMORY
 * may be NULL.
 */
struct work;
void memory_set_work(struct memory *memory, struct work *work);
struct work *memory_work(const struct memory *memory);

/*
 * Reads [ADDRESS, ADDRESS + SIZE_BYTES). Returns how many bytes it has read: all, or those before
 * the first missing page.
 */
size_t memory_read(struct memory *memory, struct memory_root root, uint64_t address, void *buffer,
		   size_t size_bytes);
/*
 * Reads the bytes as they are now. Earlier copies of them are not used; page tables may be copies.
 * Use it for a few bytes of many pages: it reads only these bytes of a live guest, and keeps
 * nothing.
 */
size_t memory_read_again(struct memory *memory, struct memory_root root, uint64_t address,
			 void *buffer, size_t size_bytes);
/*
 * Copies the pages of N addresses, at most MEMORY_BATCH_PAGES, in one batch, if there are no copies
 * yet: memory_read() then finds them. Best effort. Use it for many pages that are rarely read: to
 * map each page of a live guest by itself takes longer than to read it.
 */
void memory_prefetch(struct memory *memory, struct memory_root root, const uint64_t *addresses,
		     size_t n);
/*
 * For tables of megabytes: reads pages in batches and keeps no copies. Missing pages are zeros in
 * BUFFER. Returns how many bytes of the SIZE_BYTES could be read.
 */
size_t memory_read_bulk(struct memory *memory, struct memory_root root, uint64_t address,
			void *buffer, size_t size_bytes);
/*
 * Reads N whole pages at ADDRESS, at most MEMORY_BATCH_PAGES, in one batch, and keeps no copies.
 * Returns how many pages could be read before the first missing one. The content of PAGES after
 * them is undefined.
 */
size_t memory_read_pages(struct memory *memory, struct memory_root root, uint64_t address,
			 void *pages, size_t n);
/* memory_read_pages() for whole pages at N addresses, which are multiples of the page size. */
size_t memory_read_scattered(struct memory *memory, struct memory_root root,
			     const uint64_t *addresses, void *pages, size_t n);
/*
 * memory_read_pages() for a search through megabytes. No watcher sees the search, so a recording
 * does not keep everything that was searched, and what is found must be read again. A page that is
 * missing in a recording counts as one of zeros: the replay finds what the run found.
 */
size_t memory_read_unwatched(struct memory *memory, struct memory_root root, uint64_t address,
			     void *pages, size_t n);
/* Reads eight bytes. Returns false if not all of them can be read; *VALUE is then untouched. */
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

/* A run of present pages with equal flags: [start, end). */
struct memory_range {
	uint64_t start, end;
	bool writable, executable;
};
#define MEMORY_MAX_LEAVES LIMIT(262144, 768) /* 1 GiB in 4 KiB pages */
/*
 * Finds the ranges in [FROM, TO), ascending, at most MAX. Returns how many. Looks at no more than
 * MEMORY_MAX_LEAVES pages and holes.
 */
size_t memory_ranges(struct memory *memory, struct memory_root root, uint64_t from, uint64_t to,
		     struct memory_range *ranges, size_t max);

/*
 * Forgets all copies, so that the next read is new. The resolver calls this before each batch of
 * samples.
 */
void memory_refresh(struct memory *memory);
/*
 * A number that is another one once copies were forgotten or replaced. As long as it is the same,
 * what was computed of the memory need not be computed again.
 */
uint64_t memory_changes(const struct memory *memory);

/*
 * The guest has GUEST_PAGES pages now; 0: the guest is gone. If the number has changed, all
 * mappings are dropped: a guest frame may be another page now. The resolver calls this in each of
 * its turns.
 */
void memory_update_pages(struct memory *memory, uint64_t guest_pages);

/*
 * The time of the memory that is read, on the clock of the samples. For a live guest this is now;
 * for a recording it is the time at which the recorded memory was read. Decisions that depend on
 * the present, and not on the time of a sample, use this function.
 */
uint64_t memory_now_ns(struct memory *memory);

/* Functions that are called for everything that is read. The writer of a recording is a watcher. */
struct memory_watcher {
	/* A batch was read by memory_ops.read(). The pages go to the caller; no copy is kept. */
	void (*read)(void *context, const frame_t *frames, size_t n, const void *pages,
		     const bool *ok);
	/* One page was read, and a copy of it is kept. No caller has got bytes of it so far. */
	void (*copy)(void *context, frame_t frame, const void *page, bool ok);
	/*
	 * A caller gets [OFFSET, OFFSET + SIZE_BYTES) of such a copy, PAGE. The copy may be much
	 * older than this call.
	 */
	void (*use)(void *context, frame_t frame, const void *page, size_t offset,
		    size_t size_bytes);
	void (*time)(void *context, uint64_t now_ns); /* memory_now_ns() returns NOW_NS */
	void *context;
};
/*
 * Writes [OFFSET, OFFSET + SIZE_BYTES) of PAGE over the same bytes of FRAME's copy, if it has one.
 */
void memory_correct_copy(struct memory *memory, frame_t frame, const char *page, size_t offset,
			 size_t size_bytes);
/* Replaces the watcher, and forgets all copies. The watcher's context outlives MEMORY. */
void memory_set_watcher(struct memory *memory, const struct memory_watcher *watcher);
bool memory_is_watched(const struct memory *memory);

struct memory_counts {
	uint64_t pages;   /* read; a call of memory_ops.read_part() counts as one */
	uint64_t batches; /* calls of memory_ops.read() and memory_ops.read_part() */
	uint64_t refused; /* pages that memory_ops.read() could not read */
};
struct memory_counts memory_counts(const struct memory *memory);

/*
 * The memory of the live guest DOMID (live_memory.c), through FD, which comes from
 * foreign_open_fd(). This function owns FD, also when it fails.
 */
struct xtop_error *memory_create_live(uint32_t domid, int fd, struct memory **memoryp);

#endif
