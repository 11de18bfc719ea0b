/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's memory as the resolver reads it: while the guest runs, a few pages now and then, many
 * at start. Whole pages are copied and what is parsed is the copy, so the guest cannot change what
 * was checked. The handle behind it maps this one guest's memory and can do nothing else.
 *
 *   memory_read() ─► walk under a root (memory/walk_x86.c) ─► page copies ─► memory_ops.read()
 *                                                             kept until memory_refresh()
 *
 * Resolver's thread only. Unreadable pages are data, not errors: a read ends before them.
 */
#ifndef XTOP_MEMORY_H
#define XTOP_MEMORY_H

#include <stdbool.h>

#include "xtop/error.h"
#include "xtop/limit.h"
#include "xtop/types.h"

#define MEMORY_CACHE_PAGES LIMIT(1024, 64) /* copies kept at most: 4 MiB */
#define MEMORY_BATCH_PAGES 512  /* asked of memory_ops.read() at once, at most */

struct memory_ops {
	/* Copies the N pages FRAMES to PAGES, GUEST_PAGE_SIZE each; ok[i] false: it could not be had. */
	void (*read)(void *context, const frame_t *frames, size_t n, void *pages, bool *ok);
	void (*close)(void *context);
	/* What time it is in that memory; NULL: clock_now_ns(), it is of now. */
	uint64_t (*now_ns)(void *context);
	/* memory_follow(); NULL: it is no live guest's. */
	void (*follow)(void *context, uint64_t guest_pages);
};

struct memory;

/* Takes over CONTEXT, also on failure. */
struct xtop_error *memory_create(const struct memory_ops *ops, void *context,
				 struct memory **memoryp);
void memory_destroy(struct memory *memory); /* NULL allowed */

/* Bytes read from the front of [address, address + size_bytes): all, or up to a page that is not there. */
size_t memory_read(struct memory *memory, struct memory_root root, uint64_t address, void *buffer,
		   size_t size_bytes);
/*
 * For tables of megabytes: translates all, reads in batches, keeps no copies. Pages that are not
 * there are zeros in BUFFER; returns how many bytes were there.
 */
size_t memory_read_bulk(struct memory *memory, struct memory_root root, uint64_t address,
			void *buffer, size_t size_bytes);
/* All of it or nothing. */
bool memory_read_u64(struct memory *memory, struct memory_root root, uint64_t address,
		     uint64_t *value);
bool memory_read_u32(struct memory *memory, struct memory_root root, uint64_t address,
		     uint32_t *value);
/* Up to the NUL, at most capacity - 1 bytes, always terminated. False: not readable up to there. */
bool memory_read_string(struct memory *memory, struct memory_root root, uint64_t address,
			char *buffer, size_t capacity);
bool memory_translate(struct memory *memory, struct memory_root root, uint64_t address,
		      frame_t *frame);

/* Present leaves of [from, to), neighbours of the same kind merged. */
struct memory_range {
	uint64_t start, end;
	bool writable, executable;
};
/* Ascending, at most MAX; returns how many. Stops after MEMORY_MAX_LEAVES. */
#define MEMORY_MAX_LEAVES LIMIT(262144, 768) /* 1 GiB in 4 KiB pages */
size_t memory_ranges(struct memory *memory, struct memory_root root, uint64_t from, uint64_t to,
		     struct memory_range *ranges, size_t max);

/* What was read may have changed: forgets all copies. The resolver calls it before each batch of samples. */
void memory_refresh(struct memory *memory);

/*
 * The guest has GUEST_PAGES now, 0: it is gone. What hangs on pages that may be others now is let go. The
 * resolver calls it in each of its turns.
 */
void memory_follow(struct memory *memory, uint64_t guest_pages);

/*
 * The time of what is read, on the samples' clock. Who decides by it, and not by a sample's time, asks
 * here: a recording answers what it was then.
 */
uint64_t memory_now_ns(struct memory *memory);

/* Is told of all that comes from memory_ops: what a recording has to keep. */
struct memory_watcher {
	/* After memory_ops.read(). */
	void (*read)(void *context, const frame_t *frames, size_t n, const void *pages,
		     const bool *ok);
	void (*time)(void *context, uint64_t now_ns); /* memory_now_ns() said so */
	void *context;
};
/* Instead of the one before; forgets all copies. Watcher's context outlives MEMORY. */
void memory_watch(struct memory *memory, const struct memory_watcher *watcher);

struct memory_counts {
	uint64_t pages;   /* read */
	uint64_t batches; /* calls of memory_ops.read() */
	uint64_t refused; /* pages that could not be had */
};
struct memory_counts memory_counts(const struct memory *memory);

/*
 * live_memory.c: of the live guest DOMID, through FD, which foreign_open_fd() gave. FD is taken over,
 * also on failure.
 */
struct xtop_error *memory_create_live(uint32_t domid, int fd, struct memory **memoryp);

#endif
