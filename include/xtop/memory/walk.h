/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Translates guest-virtual addresses to frames by the guest's page tables. Any thread. vcpu.h
 * has walk_root(), which gives the root of a vCPU's page tables. The root tells the architecture:
 * memory/walk.c calls walk_x86.c or walk_arm64.c.
 */
#ifndef XTOP_WALK_H
#define XTOP_WALK_H

#include "xtop/base/types.h"

enum walk_result {
	WALK_OK,
	WALK_NOT_PRESENT,   /* there is no page */
	WALK_NOT_MAPPED,    /* a page-table page could not be read; *frame is that page */
	WALK_NOT_CANONICAL, /* not a valid address */
	WALK_BAD,           /* an entry that no processor accepts: a large page above level 3 */
};

/*
 * table() gives the 4 KiB of a page table in FRAME, as 512 words; tables of arm64 may be larger or
 * smaller. NULL: the page cannot be read.
 */
struct walk_reader {
	const volatile uint64_t *(*table)(void *context, frame_t frame);
	void *context;
};

/*
 * Translates ADDRESS by the tables of ROOT. WALK_OK: *frame is the 4 KiB frame that holds ADDRESS,
 * also inside a large page.
 */
enum walk_result walk_find_frame(const struct walk_reader *reader, struct memory_root root,
				 gva_t address, frame_t *frame);

/* A page, if the result is WALK_OK; otherwise a hole. */
struct walk_span {
	frame_t frame;       /* the frame that walk_find_frame() gives */
	uint64_t rest_bytes; /* bytes from the address to the end of the page or hole */
	unsigned shift;      /* log2 of the page's size; for pages only */
	bool writable, executable; /* what the entries of all levels allow; for pages only */
};
/* As walk_find_frame(). To go over a range, go on at ADDRESS + rest_bytes. */
enum walk_result walk_find_span(const struct walk_reader *reader, struct memory_root root,
				gva_t address, struct walk_span *span);

/*
 * The index of the word with the entry for ADDRESS in the page that the walk reads as its table
 * number STEP. Step 0 reads the table of ROOT, step 1 the one below it.
 */
size_t walk_index(struct memory_root root, gva_t address, unsigned step);
/*
 * At how many places of its page the table number STEP may begin. 1: at the page's start, or where
 * the root says. 4: at any quarter of the page; walk_index() is then the index in the first
 * quarter.
 */
unsigned walk_n_places(struct memory_root root, unsigned step);

#endif
