/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the PE image around an address of a guest, and maps it. Resolver's thread. */
#ifndef XTOP_WINDOWS_PE_FINDER_H
#define XTOP_WINDOWS_PE_FINDER_H

#include "xtop/memory/memory.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/pe.h"

struct pe_place {
	uint64_t start; /* address in the guest */
	struct pe_head head;
	char name[PE_NAME_BYTES]; /* "" if the image has none */
};

/*
 * Finds the image that contains ADDRESS. Reads downwards to its beginning: at most 32 MiB, or 4 MiB
 * of missing pages. Returns false if no PE image is there.
 */
bool pe_finder_find(struct memory *memory, struct memory_root root, uint64_t address,
		    struct pe_place *place);
/* Reads the image at PLACE, and adds it to SPACE. Error: out of memory; SPACE stays unchanged. */
struct xtop_error *pe_finder_add(struct memory *memory, struct memory_root root,
				 const struct pe_place *place, struct space *space);

#endif
