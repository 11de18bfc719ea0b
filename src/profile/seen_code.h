/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of the functions that samples ended in, as the guest ran it. A function is read when it
 * is first sampled, through the page tables on which the vCPU ran. So the code is there when the
 * user asks for it, even if the process has ended, and it is in a recording. Code changes (static
 * keys, alternatives, JIT), so it is read again now and then.
 *
 *   sample ─► seen_code_add() ─► the function's bounds (names.h) ─► memory_read(), page by page
 *   user   ─► seen_code_build() ─► struct annotation without counts
 *
 * When to read depends on samples and their times alone, so a replay reads what the run read. When
 * there is no room, the least recently sampled functions are dropped. Resolver's thread.
 */
#ifndef PROFILE_SEEN_CODE_H
#define PROFILE_SEEN_CODE_H

#include "profile/names.h"
#include "xtop/memory/memory.h"
#include "xtop/profile/annotation.h"

#define SEEN_CODE_MAX_FUNCTIONS LIMIT(4096, 16)
#define SEEN_CODE_MAX_BYTES     LIMIT(4U << 20, 64U << 10)
#define SEEN_CODE_SECOND_PAGES  256 /* most pages read in one second of the samples' clock */
#define SEEN_CODE_AGE_NS        10000000000ULL /* a function is read again after this time */
#define SEEN_CODE_RETRY_NS      1000000000ULL  /* delay of the next read if pages are missing */
#define SEEN_CODE_UNBOUNDED     256 /* bytes shown where the function's bounds are not known */

struct seen_code;

/* One sample's innermost address. */
struct seen_sample {
	uint32_t frame;
	const struct name_answer *name; /* the answer for ADDRESS */
	uint64_t address;
	frame_t page;       /* ADDRESS's page while the guest stood still; 0: not known */
	uint64_t time_ns;
	bool kernel;
	uint8_t word_bytes; /* the code's width: registers_word_bytes() */
	struct memory *memory;
	struct memory_root root;
};

struct xtop_error *seen_code_create(struct seen_code **seenp);
void seen_code_destroy(struct seen_code *seen); /* NULL allowed */
/*
 * Reads the code of the sample's function if that is due. Best effort. Calls memory_refresh() if it
 * reads.
 */
void seen_code_add(struct seen_code *seen, const struct seen_sample *sample);
/* Forgets all code: the guest is another one now. */
void seen_code_clear(struct seen_code *seen);

/*
 * Builds an annotation of FRAME without counts. KERNEL: the space that has the kernel's code, or
 * all code. FRAMES gets the functions that FRAME calls. If FRAME was never sampled, but the
 * function that was built last calls it, its code is read now out of MEMORY (NULL: nothing can be
 * read). Error: out of memory.
 */
struct xtop_error *seen_code_build(struct seen_code *seen, uint32_t frame, struct frames *frames,
				   const struct space *kernel, struct memory *memory,
				   struct annotation **annotationp);
size_t seen_code_memory_bytes(const struct seen_code *seen);

#endif
