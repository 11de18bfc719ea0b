/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest whose memory is the fuzzer's: a pool of 16 pages that every address of both halves leads
 * to, so that any number may be a pointer and lists and trees close on themselves all the time.
 *
 *   address   bits 12..15   the page of the pool
 *             bits 12..20   are 511: no page;  510: a frame that cannot be had
 *
 * Words of the input whose highest byte is 0xff become kernel pointers: bits 47 to 63 are set.
 */
#ifndef TESTS_FUZZ_GUEST_H
#define TESTS_FUZZ_GUEST_H

#include "fuzz.h"
#include "linux/kernel/linux.h"

#define FUZZ_GUEST_BYTES (16 * GUEST_PAGE_SIZE)
#define FUZZ_GUEST_BASE  0xffff888000000000ULL /* where the input lies, and everywhere else */

struct fuzz_guest {
	struct linux_guest linux_guest;
	struct memory *memory;
	uint64_t pool[FUZZ_GUEST_BYTES / 8];
	uint64_t tables[4][512];
};

/* One guest for all runs. */
struct fuzz_guest *fuzz_guest(void);
/* The rest of the input becomes its memory; nothing of the run before is left. */
void fuzz_guest_fill(struct fuzz_guest *guest, struct fuzz *fuzz);
/*
 * Every struct has its members one behind the other, 8 bytes each, in the order of enum
 * layout_member. The input then takes some away and changes others.
 */
void fuzz_guest_layout(struct fuzz_guest *guest, struct fuzz *fuzz);

#endif
