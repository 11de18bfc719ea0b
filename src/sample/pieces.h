/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: the pieces of stack of one vCPU on their way into the record, or, outside the
 * stop, the pages that they need. Sampler's thread.
 */
#ifndef SAMPLE_PIECES_H
#define SAMPLE_PIECES_H

#include "xtop/guest.h"
#include "xtop/sample.h"

struct pieces {
	struct frame_cache *cache;
	char *to;          /* where the next goes; NULL: none is copied, their pages are mapped */
	size_t size_bytes; /* written so far: heads, bytes and padding */
	size_t left_bytes; /* of SAMPLE_STACK_LIMIT_BYTES */
	uint64_t now_ns;   /* for mapping */
	unsigned n;
	bool missed;       /* a page was not mapped yet */
	struct {
		uint64_t address, end;
	} extents[SAMPLE_MAX_STACKS]; /* of the n */
	/* The page looked at last, while nothing can unmap it. */
	uint64_t seen_cr3, seen_address;
	const char *seen; /* NULL: none */
};

/* TO: NULL, or room for SAMPLE_STACK_LIMIT_BYTES and SAMPLE_MAX_STACKS heads. */
void pieces_begin(struct pieces *pieces, struct frame_cache *cache, char *to, uint64_t now_ns);

/*
 * LENGTH bytes from ADDRESS on, as far as they can be had, as the next piece; none when there is
 * not one byte. Returns why it ends; CUT_LIMIT: it is as long as was asked for, or as the limit
 * allows. *END is where it does.
 */
enum sample_cut pieces_add(struct pieces *pieces, enum sample_stack_kind kind,
			   struct memory_root root, uint64_t address, uint64_t length,
			   uint64_t *end);
/* The word at ADDRESS, a multiple of 8. CUT_NONE, or why there is none. */
enum sample_cut pieces_read(struct pieces *pieces, struct memory_root root, uint64_t address,
			    uint64_t *word);
/* The frame that ADDRESS lies in; 0: there is none, or a page table is not mapped yet. */
frame_t pieces_frame(struct pieces *pieces, struct memory_root root, uint64_t address);
bool pieces_have(const struct pieces *pieces, uint64_t address);

#endif
