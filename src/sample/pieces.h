/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: copies the pieces of stack of one vCPU into the record. Outside the stop the
 * same calls map the pages that such a copy needs. Sampler's thread.
 */
#ifndef SAMPLE_PIECES_H
#define SAMPLE_PIECES_H

#include "xtop/guest.h"
#include "xtop/sample.h"

#define PIECES_NOTHING_SEEN 1 /* no page begins there */

struct pieces {
	struct frame_cache *cache;
	char *to;          /* the record; NULL: nothing is copied, pages are mapped */
	size_t size_bytes; /* written so far: heads, bytes and padding */
	size_t left_bytes; /* of SAMPLE_STACK_LIMIT_BYTES */
	uint64_t now_ns;   /* for mapping */
	unsigned n;
	bool missed;       /* a page was not mapped yet */
	struct {
		uint64_t address, end;
	} extents[SAMPLE_MAX_STACKS]; /* of the n */
	uint64_t end; /* first address behind the bytes that pieces_add() read last */
	/*
	 * The page that was read last. Its address is kept only in the stop, when nothing can unmap
	 * it; else it is PIECES_NOTHING_SEEN.
	 */
	uint64_t seen_cr3, seen_address;
	const void *seen;
};

/*
 * TO: NULL, or room for SAMPLE_STACK_LIMIT_BYTES and SAMPLE_MAX_STACKS heads. Field by field and
 * inline: the other members are not set, which saves time while the guest stands still.
 */
static inline void pieces_begin(struct pieces *pieces, struct frame_cache *cache, char *to,
				uint64_t now_ns)
{
	pieces->cache = cache;
	pieces->to = to;
	pieces->size_bytes = 0;
	pieces->left_bytes = SAMPLE_STACK_LIMIT_BYTES;
	pieces->now_ns = now_ns;
	pieces->n = 0;
	pieces->missed = false;
	pieces->seen_address = PIECES_NOTHING_SEEN;
}

/*
 * Copies LENGTH bytes from ADDRESS on, as far as they can be read, as the next piece. If not even
 * one byte can be read, there is no piece. Returns why the piece ends; CUT_LIMIT: it has LENGTH
 * bytes, or as many as SAMPLE_STACK_LIMIT_BYTES allows.
 */
enum sample_cut pieces_add(struct pieces *pieces, enum sample_stack_kind kind,
			   struct memory_root root, uint64_t address, uint64_t length);
/* The word at ADDRESS, a multiple of 8. Returns CUT_NONE, or why the word cannot be read. */
enum sample_cut pieces_read(struct pieces *pieces, struct memory_root root, uint64_t address,
			    uint64_t *word);
/* The frame that ADDRESS lies in; 0: there is none, or a page table is not mapped yet. */
frame_t pieces_frame(struct pieces *pieces, struct memory_root root, uint64_t address);
/* One of the pieces has the byte at ADDRESS. */
bool pieces_have(const struct pieces *pieces, uint64_t address);

#endif
