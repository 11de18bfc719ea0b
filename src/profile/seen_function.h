/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to seen_code.c, which keeps functions and reads them, and seen_annotation.c, which shows
 * one of them.
 */
#ifndef PROFILE_SEEN_FUNCTION_H
#define PROFILE_SEEN_FUNCTION_H

#include "xtop/base/hash.h"
#include "xtop/memory/memory.h"
#include "xtop/profile/annotation.h"
#include "xtop/symbol/image.h"

struct seen_function {
	uint32_t frame;
	bool kernel, no_bounds;
	uint8_t word_bytes;  /* width of the code, as struct code has it */
	uint64_t start;      /* start in the guest when the code was last read */
	uint64_t size_bytes; /* the function's size */
	uint32_t n_bytes;    /* number of bytes that are kept */
	uint8_t *bytes;      /* the function's first bytes */
	bool missing[ANNOTATION_MAX_PAGES];
	struct memory_root root; /* the page tables through which the function was read */
	uint64_t used_ns;        /* time of the last sample */
	uint64_t due_ns;         /* a sample from this time on reads the function again */
	uint64_t due_anew_ns;    /* due_ns for a sample of another width; 0: such a sample reads */
	uint64_t bias;             /* the image's bias */
	struct image_place *place; /* NULL: the function lies in no image */
};

/* A call or jump of the function that was built last. */
struct seen_call {
	uint32_t frame;
	uint64_t address; /* start of the called function */
	uint64_t size_bytes;
};

struct seen_code {
	struct seen_function *functions;
	size_t n, capacity;
	struct hash_table by_frame;
	size_t bytes;           /* size of all functions' kept code */
	uint64_t second;        /* the current second of the samples' clock */
	unsigned pages;         /* number of pages that were read in that second */
	uint32_t caller;        /* the function that was built last; FRAME_NONE: none */
	struct seen_call *calls;
	size_t n_calls, calls_capacity;
};

/* NULL: FRAME was never sampled, or was dropped. */
struct seen_function *seen_find(const struct seen_code *seen, uint32_t frame);
/* Whether a page of FUNCTION was read. */
bool seen_has_any(const struct seen_function *function);
/*
 * Reads the code of FRAME, if the function that was built last calls FRAME. NULL: it does not, or
 * nothing can be read.
 */
struct seen_function *seen_read_called(struct seen_code *seen, uint32_t frame,
				       struct memory *memory);

#endif
