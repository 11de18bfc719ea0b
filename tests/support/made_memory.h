/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's memory for tests of code that reads it. A test puts bytes at virtual addresses, and the
 * page tables are built on the way. The result is a struct memory with the real cache and the real
 * walk.
 *
 *   struct made_memory *made = made_create();
 *   struct memory_root root = made_root(made);
 *   made_put_u64(made, root, 0xffffffff82000000, 42);      // a writable, not executable page
 *   memory_read_u64(made_memory(made), root, 0xffffffff82000000, &value);
 *
 * Call memory_refresh() after a change to bytes that were read before. Address spaces share nothing
 * but what made_share_kernel() and made_alias() share. Frame numbers have no relation to addresses.
 * If something is missing that a test needs, the process ends with status 99.
 */
#ifndef TESTS_MADE_MEMORY_H
#define TESTS_MADE_MEMORY_H

#include "xtop/memory/memory.h"

#define MADE_FRAME     0x1000 /* the number of the first frame */
#define MADE_LARGE     (2ULL << 20)
#define MADE_MAX_PAGES 65536

enum made_flags {
	MADE_READ = 0,
	MADE_WRITE = 1 << 0,
	MADE_EXECUTE = 1 << 1,
	MADE_PAGE_2M = 1 << 2, /* made_map(): pages of 2 MiB; address and size are multiples */
};

struct made_memory;

struct made_memory *made_create(void);
void made_destroy(struct made_memory *made); /* and the struct memory */
struct memory *made_memory(struct made_memory *made);

/* A new, empty address space. */
struct memory_root made_root(struct made_memory *made);
struct memory_root made_root_la57(struct made_memory *made);
/*
 * ROOT shares the upper half of FROM, which the kernel has in every process. Later changes show in
 * both.
 */
void made_share_kernel(struct made_memory *made, struct memory_root root, struct memory_root from);

/*
 * Maps the pages of [address, address + size_bytes) to new frames of zeros. Existing pages stay as
 * they are.
 */
void made_map(struct made_memory *made, struct memory_root root, uint64_t address,
	      uint64_t size_bytes, unsigned flags);
/*
 * Maps the page at ADDRESS to the frame of OTHER under OTHER_ROOT, so that one page has two
 * addresses.
 */
void made_alias(struct made_memory *made, struct memory_root root, uint64_t address,
		struct memory_root other_root, uint64_t other, unsigned flags);
/* Unmaps pages. A page of 2 MiB that is touched is unmapped as a whole. */
void made_unmap(struct made_memory *made, struct memory_root root, uint64_t address,
		uint64_t size_bytes);
/*
 * REFUSE: the frame at ADDRESS cannot be read any more, as if Xen refused it. Otherwise it can
 * again.
 */
void made_refuse(struct made_memory *made, struct memory_root root, uint64_t address, bool refuse);

/* Puts bytes at ADDRESS. Missing pages are mapped, writable and not executable. */
void made_put(struct made_memory *made, struct memory_root root, uint64_t address,
	      const void *bytes, size_t size_bytes);
void made_put_u64(struct made_memory *made, struct memory_root root, uint64_t address,
		  uint64_t value);
void made_put_u32(struct made_memory *made, struct memory_root root, uint64_t address,
		  uint32_t value);
void made_put_u16(struct made_memory *made, struct memory_root root, uint64_t address,
		  uint16_t value);
void made_put_u8(struct made_memory *made, struct memory_root root, uint64_t address,
		 uint8_t value);
void made_put_string(struct made_memory *made, struct memory_root root, uint64_t address,
		     const char *string); /* copies its NUL, too */

/* The frame of ADDRESS, which must be mapped. */
frame_t made_frame(struct made_memory *made, struct memory_root root, uint64_t address);
/*
 * The entry for ADDRESS at LEVEL; missing tables above it are made. For tests that damage entries.
 */
uint64_t *made_entry(struct made_memory *made, struct memory_root root, uint64_t address,
		     unsigned level);

#endif
