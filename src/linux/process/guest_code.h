/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access to the code of a guest's program, for unwinding where the program has no tables (code.h).
 * Each function is read from the guest's page cache when a frame first lies in it. Resolver's
 * thread.
 */
#ifndef XTOP_PROCESS_GUEST_CODE_H
#define XTOP_PROCESS_GUEST_CODE_H

#include "linux/process/guest_file.h"
#include "linux/process/memory_budget.h"
#include "xtop/base/error.h"
#include "xtop/base/limit.h"
#include "xtop/elf/loads.h"
#include "xtop/symbol/image.h"

/*
 * The most code, of all files together, that is read in one turn. Following the instructions of
 * this code takes 50 ms at most; searching the code for calls takes 5 ms.
 */
#define GUEST_CODE_TURN_NS        100000000ULL
#define GUEST_CODE_TURN_BYTES     LIMIT(1U << 20, 64U << 10)
#define GUEST_CODE_AT_ONCE_BYTES  LIMIT(64U << 20, 64U << 10) /* total for one report */
#define GUEST_CODE_MAX_ROOT_FILES 256                         /* files of --root that stay open */

/* Budget for reading code. Shared by all files of one guest. */
struct guest_code_turns {
	const struct memory_budget *budget; /* a full budget: nothing is read */
	uint64_t number;                    /* number of the present turn */
	uint64_t left_bytes;                /* bytes that may still be read in the present turn */
	/*
	 * For one report of a guest that may have crashed: each request is a turn of its own, until
	 * TOTAL_BYTES were read. With turns by the clock, the number of frames in the report would
	 * depend on chance.
	 */
	bool at_once;
	uint64_t total_bytes;
	unsigned n_root_files; /* number of open files */
};

/*
 * Lets the unwinder read the code of IMAGE, which is FILE with segments LOADS. ROOT_FD is the same
 * file below --root, for pages that the page cache lacks, or -1; a duplicate stays open. TURNS and
 * FILE's guest outlive the image's last use by unwinding. Error: out of memory.
 */
struct xtop_error *guest_code_attach(struct image *image, const struct guest_file *file,
				     const struct loads *loads, int root_fd,
				     struct guest_code_turns *turns);

#endif
