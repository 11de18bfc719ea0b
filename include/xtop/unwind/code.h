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
	/* Copies SIZE_BYTES at ADDRESS; returns how many bytes could be read, from the front. */
	size_t (*read)(void *context, uint64_t address, void *buffer, size_t size_bytes);
	/* Finds the bounds of the function at ADDRESS. Returns false if they are unknown. */
	bool (*find_function)(void *context, uint64_t address, uint64_t *start, uint64_t *end);
	void (*close)(void *context); /* NULL: there is nothing to close */
	/*
	 * Code is read in turns. Returns the number of the current turn, which rises with time.
	 * Code that could not be read in one turn may be readable in a later turn. 0: nothing more
	 * may be read in this turn. NULL function: code that cannot be read now will never be
	 * readable.
	 */
	uint64_t (*turn)(void *context);
	/*
	 * Whether this turn has room for a search of much code, which must not keep chains from
	 * being followed. NULL: always.
	 */
	bool (*may_search)(void *context);
	void *context;               /* the first argument of the functions above */
	struct entry_points entries; /* code addresses in the functions that run first */
	struct work *work;           /* tells when to stop reading code; NULL: never */
	enum guest_arch arch;        /* architecture of the code; its reader knows the word size */
};

#endif
