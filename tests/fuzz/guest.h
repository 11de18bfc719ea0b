/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest with memory out of the fuzzer's input: a pool of 16 pages. Every address of both halves
 * leads into the pool, so any number may be a pointer, and lists and trees often close on
 * themselves.
 *
 *   address   bits 12..15   number of the page in the pool
 *             bits 12..20   511: no page;  510: a frame that cannot be read
 *
 * Words of the input whose highest byte is 0xff become kernel pointers: bits 47 to 63 are set.
 */
#ifndef TESTS_FUZZ_GUEST_H
#define TESTS_FUZZ_GUEST_H

#include "fuzz.h"
#include "linux/kernel/linux_guest.h"

#define FUZZ_GUEST_BYTES (16 * GUEST_PAGE_SIZE)
#define FUZZ_GUEST_BASE  0xffff888000000000ULL /* one of the addresses of the pool */

struct fuzz_guest {
	struct linux_guest linux_guest;
	struct memory *memory;
	bool arm64; /* page tables are arm64's; fuzz_guest_fill() looks at it. Entries are the same */
	uint64_t pool[FUZZ_GUEST_BYTES / 8];
	uint64_t tables[4][512];
};

/* The one guest of all runs. */
struct fuzz_guest *fuzz_guest(void);
/* The rest of the input becomes the pool; nothing of the run before is left. */
void fuzz_guest_fill(struct fuzz_guest *guest, struct fuzz *fuzz);
/*
 * Every struct has its members one after the other, 8 bytes each, in the order of enum
 * layout_member. The input then removes some members and moves others.
 */
void fuzz_guest_layout(struct fuzz_guest *guest, struct fuzz *fuzz);

#endif
