/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of one image, for unwinding without tables (unwind/computed.h): its bytes, and where its
 * functions begin and end. The bytes are hostile. Addresses are the image's. Resolver's thread.
 */
#ifndef XTOP_CODE_H
#define XTOP_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/vcpu.h"
#include "xtop/elf/loads.h"

struct code_source {
	/* Copies SIZE_BYTES at ADDRESS; returns how many could be read, from the front. */
	size_t (*read)(void *context, uint64_t address, void *buffer, size_t size_bytes);
	/* The bounds of the function at ADDRESS. False: not known. */
	bool (*find_function)(void *context, uint64_t address, uint64_t *start, uint64_t *end);
	void (*close)(void *context); /* NULL: there is nothing to close */
	/*
	 * The number of the turn, which rises with time. What could not be read in one turn may be
	 * there in a later one. 0: nothing more is read in this turn. NULL: what cannot be read now
	 * never can.
	 */
	uint64_t (*turn)(void *context);
	void *context;
	struct entry_points entries; /* in the functions that run first */
	enum guest_arch arch;        /* what the code is of, with words of 8 bytes */
};

#endif
