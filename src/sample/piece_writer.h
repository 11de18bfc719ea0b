/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: copies pieces of the stacks of one vCPU into the record. Outside the stop the
 * same calls map the pages that such a copy needs. Sampler's thread.
 */
#ifndef SAMPLE_PIECE_WRITER_H
#define SAMPLE_PIECE_WRITER_H

#include "xtop/sample/sample.h"
#include "xtop/xen/guest.h"

#define PIECE_WRITER_NOTHING_SEEN 1 /* no page begins at this address */

struct piece_writer {
	struct frame_cache *cache;
	char *to;          /* place in the record; NULL: nothing is copied, pages are mapped */
	size_t size_bytes; /* size of the pieces so far: heads, bytes and padding */
	size_t left_bytes; /* what is left of SAMPLE_STACK_LIMIT_BYTES */
	uint64_t now_ns;   /* the present time, for pages that are mapped */
	unsigned n;        /* number of pieces so far */
	bool missed;       /* a page was not mapped yet */
	struct {
		uint64_t address, end;
	} extents[SAMPLE_MAX_STACKS]; /* places of the n pieces in guest memory */
	uint64_t end; /* first address after the bytes that the last piece_writer_add() has read */
	/*
	 * The page that was read last. Its address is set only in the stop, when nothing can unmap
	 * the page; otherwise seen_address is PIECE_WRITER_NOTHING_SEEN.
	 */
	uint64_t seen_cr3, seen_address;
	const void *seen;
};

/*
 * Begins a vCPU, without pieces. TO: NULL, or room for SAMPLE_STACK_LIMIT_BYTES and
 * SAMPLE_MAX_STACKS heads. Sets only the members that need a value, which saves time while the
 * guest is stopped.
 */
static inline void piece_writer_begin(struct piece_writer *writer, struct frame_cache *cache,
				      char *to, uint64_t now_ns)
{
	writer->cache = cache;
	writer->to = to;
	writer->size_bytes = 0;
	writer->left_bytes = SAMPLE_STACK_LIMIT_BYTES;
	writer->now_ns = now_ns;
	writer->n = 0;
	writer->missed = false;
	writer->seen_address = PIECE_WRITER_NOTHING_SEEN;
}

/*
 * Copies LENGTH bytes from ADDRESS on as the next piece, as far as they can be read. If the first
 * byte cannot be read, adds no piece. Returns why the piece ends; CUT_LIMIT: the piece has LENGTH
 * bytes, or as many as SAMPLE_STACK_LIMIT_BYTES allows.
 */
enum sample_cut piece_writer_add(struct piece_writer *writer, enum sample_stack_kind kind,
				 struct memory_root root, uint64_t address, uint64_t length);
/* Reads the word at ADDRESS, a multiple of 8. Returns CUT_NONE, or why the word cannot be read. */
enum sample_cut piece_writer_read(struct piece_writer *writer, struct memory_root root,
				  uint64_t address, uint64_t *word);
/*
 * Copies the words of an interpreter's frames, as RECIPE tells, as the next piece. Adds no piece if
 * there are no frames. THREAD_POINTER belongs to the user code; 0: not known.
 */
struct recipe;
void piece_writer_add_list(struct piece_writer *writer, struct memory_root root,
			   uint64_t thread_pointer, const struct recipe *recipe);
/* The frame that ADDRESS lies in; 0: there is no frame, or a page table is not mapped yet. */
frame_t piece_writer_find_frame(struct piece_writer *writer, struct memory_root root,
				uint64_t address);
/* Whether one of the pieces has the byte at ADDRESS. */
bool piece_writer_have(const struct piece_writer *writer, uint64_t address);

#endif
