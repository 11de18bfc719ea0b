/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest-virtual address to frame, by the guest's page tables. Any thread. */
#ifndef XTOP_WALK_H
#define XTOP_WALK_H

#include "xtop/types.h"

enum walk_result {
	WALK_OK,
	WALK_NOT_PRESENT,   /* no page there */
	WALK_NOT_MAPPED,    /* a page-table frame could not be had: *frame says which */
	WALK_NOT_CANONICAL, /* no address at all */
	WALK_BAD,           /* reserved bits, or a frame no machine has */
};

/* Gives the page-table page in FRAME: 512 entries, 8-aligned; NULL if it cannot be had. */
struct walk_reader {
	const volatile uint64_t *(*table)(void *context, frame_t frame);
	void *context;
};

/* The address space of a vCPU. PV guests never have five levels, and their CR4 does not say so. */
struct memory_root walk_root(const struct registers *regs);

/*
 * ADDRESS under the tables of ROOT. WALK_OK: *frame is the 4 KiB frame that holds it, inside a
 * large page too.
 */
enum walk_result walk_find_frame(const struct walk_reader *reader, struct memory_root root, gva_t address,
			  frame_t *frame);

/* What lies at an address: a page, or a hole when the result is anything but WALK_OK. */
struct walk_span {
	frame_t frame;       /* as walk_find_frame() gives it */
	uint64_t rest_bytes; /* from the address to the end of the page or hole */
	unsigned shift;      /* of a page: log2 of its size */
	bool writable, executable; /* of a page: as the entries of all levels together allow it */
};
/* As walk_find_frame(), for going over ranges: at + rest_bytes is where the next span begins. */
enum walk_result walk_find_span(const struct walk_reader *reader, struct memory_root root,
			       gva_t address, struct walk_span *span);

#endif
